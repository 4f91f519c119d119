/* What the files of this library share. Nothing here is for guests. */
#ifndef SANDBAR_INTERNAL_H
#define SANDBAR_INTERNAL_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>

#include "sandbar.h"

/* Turns a system call's answer into POSIX's: 0, or -1 with errno. The kernel's numbers are wasi-libc's. */
static inline int sandbar_result(int32_t error) {
    if (error == 0) return 0;
    errno = error;
    return -1;
}

/* The kernel's descriptor for the first argument of an *at call. */
static inline int32_t sandbar_dirfd(int fd) { return fd == AT_FDCWD ? SANDBAR_CWD_FD : fd; }

/* A path as the kernel takes it: two arguments. */
#define SANDBAR_PATH(path) (const uint8_t *)(path), (uint32_t)strlen(path)

static inline uint32_t sandbar_at_flags(int flags) {
    return flags & AT_SYMLINK_NOFOLLOW ? SANDBAR_AT_SYMLINK_NOFOLLOW : 0;
}

/* Runs the handlers of signals that have arrived (signal.c). */
void sandbar_run_handlers(void);

/* As sandbar_result, for a call that waits: a handled signal that ended it has its handler run first. */
static inline int sandbar_waited(int32_t error) {
    if (error == EINTR) sandbar_run_handlers();
    return sandbar_result(error);
}

#endif
