/* wasi-libc's <sys/stat.h> and what it leaves out. */
#ifndef SANDBAR_SYS_STAT_H
#define SANDBAR_SYS_STAT_H

#include_next <sys/stat.h>

#ifdef __cplusplus
extern "C" {
#endif

mode_t umask(mode_t);
int lchmod(const char *, mode_t);
int mkfifo(const char *, mode_t);
int mkfifoat(int, const char *, mode_t);
int mknod(const char *, mode_t, dev_t);
int mknodat(int, const char *, mode_t, dev_t);

#ifdef __cplusplus
}
#endif
#endif
