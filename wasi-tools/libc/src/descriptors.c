/* Descriptors as POSIX has them: dup, pipe, fcntl, locks, terminals. */
#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>
#include <wasi/api.h>

int dup(int fd) { return fcntl(fd, F_DUPFD, 0); }

int dup2(int from, int to) {
    uint32_t flags;
    if (from == to) return sandbar_result(sandbar_fd_getfd(from, &flags)) ? -1 : to;
    return sandbar_result(sandbar_fd_dup2(from, to, 0)) ? -1 : to;
}

int dup3(int from, int to, int flags) {
    if (from == to || (flags & ~O_CLOEXEC) != 0) return errno = EINVAL, -1;
    return sandbar_result(sandbar_fd_dup2(from, to, flags & O_CLOEXEC ? SANDBAR_FD_CLOEXEC : 0)) ? -1 : to;
}

int pipe2(int ends[2], int flags) {
    if ((flags & ~(O_CLOEXEC | O_NONBLOCK)) != 0) return errno = EINVAL, -1;
    uint32_t wanted = (flags & O_CLOEXEC ? SANDBAR_FD_CLOEXEC : 0) | (flags & O_NONBLOCK ? SANDBAR_O_NONBLOCK : 0);
    int32_t read_end = -1, write_end = -1;
    if (sandbar_result(sandbar_fd_pipe(wanted, &read_end, &write_end))) return -1;
    ends[0] = read_end;
    ends[1] = write_end;
    return 0;
}

int pipe(int ends[2]) { return pipe2(ends, 0); }

static int duplicate(int fd, int lowest, uint32_t flags) {
    int32_t result = -1;
    return sandbar_result(sandbar_fd_dup(fd, lowest, flags, &result)) ? -1 : result;
}

static int get_flags(int fd) {
    uint32_t kernel = 0;
    if (sandbar_result(sandbar_fd_getfl(fd, &kernel))) return -1;
    int flags = O_RDONLY;
    if ((kernel & SANDBAR_O_ACCMODE) == SANDBAR_O_WRONLY) flags = O_WRONLY;
    else if ((kernel & SANDBAR_O_ACCMODE) == SANDBAR_O_RDWR) flags = O_RDWR;
    if (kernel & SANDBAR_O_APPEND) flags |= O_APPEND;
    if (kernel & SANDBAR_O_NONBLOCK) flags |= O_NONBLOCK;
    return flags;
}

/* wasi-libc's flags are preview 1's bits; others can't be changed once a file is open. */
static int set_flags(int fd, int flags) {
    return sandbar_result(__wasi_fd_fdstat_set_flags(fd, (__wasi_fdflags_t)(flags & (O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC))));
}

static int get_close_on_exec(int fd) {
    uint32_t flags = 0;
    if (sandbar_result(sandbar_fd_getfd(fd, &flags))) return -1;
    return flags & SANDBAR_FD_CLOEXEC ? FD_CLOEXEC : 0;
}

/* Where a lock starts, counted from the beginning of the file; -1 with errno. */
static off_t lock_start(int fd, const struct flock *lock) {
    if (lock->l_whence == SEEK_SET) return lock->l_start;
    __wasi_filesize_t from = 0;
    if (lock->l_whence == SEEK_CUR) {
        if (sandbar_result(__wasi_fd_tell(fd, &from))) return -1;
    } else if (lock->l_whence == SEEK_END) {
        sandbar_stat file = {.size = sizeof file};
        if (sandbar_result(sandbar_fd_stat(fd, &file))) return -1;
        from = file.length;
    } else {
        return errno = EINVAL, -1;
    }
    return (off_t)from + lock->l_start;
}

static int record_lock(int fd, uint32_t command, struct flock *lock) {
    off_t start = lock_start(fd, lock), length = lock->l_len;
    if (start < 0) return errno = EINVAL, -1;
    if (length < 0) { /* POSIX: a negative length covers the bytes before the start */
        start += length;
        length = -length;
    }
    if (start < 0) return errno = EINVAL, -1;
    sandbar_lock request = {
        .size = sizeof request, .type = (uint32_t)lock->l_type, .start = (uint64_t)start, .len = (uint64_t)length};
    if (sandbar_waited(sandbar_fd_lock(fd, command, &request))) return -1;
    if (command == 0) {
        lock->l_type = (short)request.type;
        if (request.type != F_UNLCK) {
            lock->l_whence = SEEK_SET;
            lock->l_start = (off_t)request.start;
            lock->l_len = (off_t)request.len;
            lock->l_pid = request.pid;
        }
    }
    return 0;
}

int fcntl(int fd, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    int result = -1;
    switch (command) {
    case F_DUPFD: result = duplicate(fd, va_arg(arguments, int), 0); break;
    case F_DUPFD_CLOEXEC: result = duplicate(fd, va_arg(arguments, int), SANDBAR_FD_CLOEXEC); break;
    case F_GETFD: result = get_close_on_exec(fd); break;
    case F_SETFD:
        result = sandbar_result(sandbar_fd_setfd(fd, va_arg(arguments, int) & FD_CLOEXEC ? SANDBAR_FD_CLOEXEC : 0));
        break;
    case F_GETFL: result = get_flags(fd); break;
    case F_SETFL: result = set_flags(fd, va_arg(arguments, int)); break;
    case F_GETLK: result = record_lock(fd, 0, va_arg(arguments, struct flock *)); break;
    case F_SETLK: result = record_lock(fd, 1, va_arg(arguments, struct flock *)); break;
    case F_SETLKW: result = record_lock(fd, 2, va_arg(arguments, struct flock *)); break;
    default: errno = EINVAL;
    }
    va_end(arguments);
    return result;
}

int flock(int fd, int operation) { return sandbar_waited(sandbar_fd_flock(fd, (uint32_t)operation)); }

int lockf(int fd, int command, off_t length) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_CUR, .l_len = length};
    switch (command) {
    case F_ULOCK: lock.l_type = F_UNLCK; return fcntl(fd, F_SETLK, &lock);
    case F_LOCK: return fcntl(fd, F_SETLKW, &lock);
    case F_TLOCK: return fcntl(fd, F_SETLK, &lock);
    case F_TEST:
        if (fcntl(fd, F_GETLK, &lock) != 0) return -1;
        return lock.l_type == F_UNLCK ? 0 : (errno = EACCES, -1);
    default: return errno = EINVAL, -1;
    }
}

int isatty(int fd) {
    uint32_t terminal = 0;
    if (sandbar_result(sandbar_fd_isatty(fd, &terminal))) return 0;
    if (!terminal) errno = ENOTTY;
    return terminal != 0;
}

int ttyname_r(int fd, char *buffer, size_t size) {
    if (!isatty(fd)) return errno;
    /* The only names that terminals have in a sandbox. */
    int length = snprintf(buffer, size, "/dev/fd/%d", fd);
    return (size_t)length < size ? 0 : ERANGE;
}

char *ttyname(int fd) {
    static char name[24];
    int error = ttyname_r(fd, name, sizeof name);
    return error == 0 ? name : (errno = error, NULL);
}
