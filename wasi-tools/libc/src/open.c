/* open(2) and its relatives, with the mode that WASI has no room for. */
#include "internal.h"

#include <stdarg.h>
#include <unistd.h>
#include <wasi/libc.h>

static const struct {
    int libc;
    uint32_t kernel;
} open_flags[] = {
    {O_CREAT, SANDBAR_O_CREAT},     {O_EXCL, SANDBAR_O_EXCL},         {O_TRUNC, SANDBAR_O_TRUNC},
    {O_APPEND, SANDBAR_O_APPEND},   {O_NONBLOCK, SANDBAR_O_NONBLOCK}, {O_DIRECTORY, SANDBAR_O_DIRECTORY},
    {O_NOFOLLOW, SANDBAR_O_NOFOLLOW},
};

static uint32_t kernel_flags(int flags) {
    uint32_t result = SANDBAR_O_RDONLY;
    if ((flags & O_ACCMODE) == O_RDWR) result = SANDBAR_O_RDWR;
    else if ((flags & O_ACCMODE) == O_WRONLY) result = SANDBAR_O_WRONLY;
    for (size_t i = 0; i < sizeof open_flags / sizeof *open_flags; i++)
        if (flags & open_flags[i].libc) result |= open_flags[i].kernel;
    /* wasi-libc has no number for O_CLOEXEC (it is 0 there): our headers give it the kernel's bit. */
    return result | ((uint32_t)flags & SANDBAR_O_CLOEXEC);
}

static int open_mode(int dirfd, const char *path, int flags, uint32_t mode) {
    int32_t fd = -1;
    if (sandbar_waited(sandbar_path_open(sandbar_dirfd(dirfd), SANDBAR_PATH(path), kernel_flags(flags), mode, &fd))) return -1;
    return fd;
}

static uint32_t mode_argument(int flags, va_list arguments) { return flags & O_CREAT ? va_arg(arguments, mode_t) : 0; }

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    uint32_t mode = mode_argument(flags, arguments);
    va_end(arguments);
    return open_mode(AT_FDCWD, path, flags, mode);
}

int openat(int dirfd, const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    uint32_t mode = mode_argument(flags, arguments);
    va_end(arguments);
    return open_mode(dirfd, path, flags, mode);
}

int creat(const char *path, mode_t mode) { return open_mode(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* wasi-libc's own doors, which its other functions (fopen, opendir, …) go through. */

int __wasilibc_open_nomode(const char *path, int flags) { return open_mode(AT_FDCWD, path, flags, 0666); }

int __wasilibc_openat_nomode(int dirfd, const char *path, int flags) { return open_mode(dirfd, path, flags, 0666); }

int __wasilibc_nocwd_openat_nomode(int dirfd, const char *path, int flags) { return open_mode(dirfd, path, flags, 0666); }
