/* wasi-libc's <time.h> and the local time zone. */
#ifndef SANDBAR_TIME_H
#define SANDBAR_TIME_H

#include_next <time.h>

#ifdef __cplusplus
extern "C" {
#endif

void tzset(void);
extern char *tzname[2];
extern long timezone;
extern int daylight;

#ifdef __cplusplus
}
#endif
#endif
