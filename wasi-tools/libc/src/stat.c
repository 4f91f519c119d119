/* stat(2) and its relatives, with permissions, owner and the types that WASI lacks. */
#include "internal.h"

#include <sys/stat.h>
#include <wasi/libc.h>

static struct timespec timespec_of(int64_t ns) {
    struct timespec time = {.tv_sec = ns / 1000000000, .tv_nsec = (long)(ns % 1000000000)};
    if (time.tv_nsec < 0) { /* before 1970 the fraction still counts forward */
        time.tv_nsec += 1000000000;
        time.tv_sec -= 1;
    }
    return time;
}

static int fill(int32_t error, const sandbar_stat *from, struct stat *to) {
    if (sandbar_result(error)) return -1;
    *to = (struct stat){
        .st_dev = from->dev,
        .st_ino = from->ino,
        .st_nlink = from->nlink,
        .st_mode = from->mode,
        .st_uid = from->uid,
        .st_gid = from->gid,
        .st_rdev = from->rdev,
        .st_size = (off_t)from->length,
        .st_blksize = (blksize_t)from->blksize,
        .st_blocks = (blkcnt_t)from->blocks,
        .st_atim = timespec_of(from->atime_ns),
        .st_mtim = timespec_of(from->mtime_ns),
        .st_ctim = timespec_of(from->ctime_ns),
    };
    return 0;
}

int fstatat(int dirfd, const char *restrict path, struct stat *restrict result, int flags) {
    sandbar_stat answer = {.size = sizeof answer};
    return fill(sandbar_path_stat(sandbar_dirfd(dirfd), sandbar_at_flags(flags), SANDBAR_PATH(path), &answer), &answer, result);
}

int fstat(int fd, struct stat *result) {
    sandbar_stat answer = {.size = sizeof answer};
    return fill(sandbar_fd_stat(fd, &answer), &answer, result);
}

int stat(const char *restrict path, struct stat *restrict result) { return fstatat(AT_FDCWD, path, result, 0); }

int lstat(const char *restrict path, struct stat *restrict result) {
    return fstatat(AT_FDCWD, path, result, AT_SYMLINK_NOFOLLOW);
}

/* wasi-libc's own doors. */

int __wasilibc_stat(const char *restrict path, struct stat *restrict result, int flags) {
    return fstatat(AT_FDCWD, path, result, flags);
}

int __wasilibc_nocwd_fstatat(int dirfd, const char *restrict path, struct stat *restrict result, int flags) {
    return fstatat(dirfd, path, result, flags);
}
