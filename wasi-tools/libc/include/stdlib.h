/* wasi-libc's <stdlib.h> and what it leaves out. */
#ifndef SANDBAR_STDLIB_H
#define SANDBAR_STDLIB_H

#include_next <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

int system(const char *);
int mkstemp(char *);
int mkostemp(char *, int);
int mkstemps(char *, int);
int mkostemps(char *, int, int);
char *mkdtemp(char *);

#ifdef __cplusplus
}
#endif
#endif
