/* wasi-libc's <stdio.h> and what it leaves out. */
#ifndef SANDBAR_STDIO_H
#define SANDBAR_STDIO_H

#include_next <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

FILE *popen(const char *, const char *);
int pclose(FILE *);
FILE *tmpfile(void);
int renameat2(int, const char *, int, const char *, unsigned);

#ifdef __cplusplus
}
#endif
#endif
