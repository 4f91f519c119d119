/*
 * sandbar_v1: the system calls that WASI preview 1 lacks, as a WebAssembly import module.
 *
 * A module that imports anything from "sandbar_v1" is an *aware* guest and lives in POSIX: descriptors are inherited
 * numbers, the lowest free number wins, and nothing is preopened from 3 on. See docs/guest-abi.md.
 *
 * Conventions
 *   - Every call returns a WASI preview 1 errno (0 is success), which is also wasi-libc's errno.
 *   - All integers are little-endian; pointers and lengths are 32-bit; every struct starts with its own size in bytes, so
 *     that a later version can append fields. A size below the first version's is EINVAL.
 *   - Paths, arguments and environment entries are bytes without a terminating NUL; an embedded NUL is EINVAL.
 *   - `dirfd` is a descriptor of a directory, SANDBAR_ROOT_FD or SANDBAR_CWD_FD.
 *   - Calls marked [waits] can block; a signal with a handler ends them with EINTR.
 */
#ifndef SANDBAR_H
#define SANDBAR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SANDBAR_IMPORT(name) \
    __attribute__((__import_module__("sandbar_v1"), __import_name__(#name), __warn_unused_result__))

/* Reserved descriptors of an aware guest: never allocated, never closed, accepted wherever a dirfd is, by preview 1 calls too. */
#define SANDBAR_ROOT_FD 0x40000000 /* the root directory of the namespace */
#define SANDBAR_CWD_FD  0x40000001 /* the process's current directory */

/* ---- processes ------------------------------------------------------------------------------------------------ */

typedef struct { uint32_t ptr, len; } sandbar_bytes;      /* a byte string in the guest's memory */
typedef struct { int32_t child, parent; } sandbar_fd_map; /* the child's number, and the caller's descriptor it shares */

#define SANDBAR_SPAWN_SEARCH   1u  /* a path without '/' is looked up on the caller's PATH (of `env` when given) */
#define SANDBAR_SPAWN_PGROUP   2u  /* set the group to `pgid`, 0 meaning the child's own pid */
#define SANDBAR_SPAWN_SIGMASK  4u  /* set the blocked signals to `sigmask`; otherwise inherited */
#define SANDBAR_SPAWN_SIGIGN   8u  /* set the ignored signals to `sigignore`; otherwise inherited. Handlers never are. */
#define SANDBAR_SPAWN_UMASK   16u  /* set the umask; otherwise inherited */
#define SANDBAR_SPAWN_CWD     32u  /* start in `cwd`; otherwise inherited */
#define SANDBAR_SPAWN_ENV     64u  /* `env` replaces the environment; otherwise the caller's at its own start */
#define SANDBAR_SPAWN_ALLFDS 128u  /* pass every descriptor that is not close-on-exec, then apply `fds` on top */
#define SANDBAR_SPAWN_SETSID 256u  /* start in a new session and group */

typedef struct {
    uint32_t size;          /* sizeof(sandbar_spawn) */
    uint32_t flags;         /* SANDBAR_SPAWN_* */
    sandbar_bytes path;     /* program; see SANDBAR_SPAWN_SEARCH */
    uint32_t argv, argc;    /* array of sandbar_bytes; argv[0] included */
    uint32_t env, envc;     /* array of sandbar_bytes "NAME=value" */
    uint32_t fds, nfds;     /* array of sandbar_fd_map; without ALLFDS the child gets these and no other */
    sandbar_bytes cwd;
    int32_t pgid;
    uint32_t umask;
    uint32_t sigmask;       /* bit n-1 is signal n */
    uint32_t sigignore;
} sandbar_spawn;

/* Starts a program as a child process. ENOENT, EACCES (not executable), ENOEXEC, E2BIG, EAGAIN (process limit), EBADF.
 * The same rules as execve(2) and PATH search of execvp(3); `#!` lines run their interpreter. */
SANDBAR_IMPORT(proc_spawn) int32_t sandbar_proc_spawn(const sandbar_spawn *request, int32_t *pid);
/* Replaces the calling program, keeping pid, group, cwd, umask and descriptors that are not close-on-exec. `fds` is applied on
 * top of them; pgid and cwd as in spawn. Returns only on failure. */
SANDBAR_IMPORT(proc_exec) int32_t sandbar_proc_exec(const sandbar_spawn *request);

#define SANDBAR_WNOHANG    1u
#define SANDBAR_WUNTRACED  2u
#define SANDBAR_WCONTINUED 8u

typedef struct {
    uint32_t size;
    int32_t pid;            /* 0 when WNOHANG found nothing */
    uint32_t status;        /* as Linux encodes it: exit code << 8 | signal; stopped: signal << 8 | 0x7f; continued: 0xffff */
    uint32_t pad;
    uint64_t cpu_ns;        /* CPU time of the child and those it waited for */
    uint64_t max_rss;       /* bytes of linear memory at its peak */
} sandbar_wait;

/* [waits] waitpid(2): pid > 0 that child, -1 any, 0 any of the caller's group, < -1 any of group -pid. ECHILD, EINTR, EINVAL. */
SANDBAR_IMPORT(proc_wait) int32_t sandbar_proc_wait(int32_t pid, uint32_t options, sandbar_wait *result);
/* kill(2): signal 0 only checks. ESRCH, EINVAL, EPERM never (one user). */
SANDBAR_IMPORT(proc_kill) int32_t sandbar_proc_kill(int32_t pid, uint32_t signal);

typedef struct {
    uint32_t size;
    int32_t pid, ppid, pgid, sid;
    uint32_t uid, gid;
} sandbar_ids;

/* The ids of process `pid`, 0 meaning the caller. ESRCH. */
SANDBAR_IMPORT(proc_ids) int32_t sandbar_proc_ids(int32_t pid, sandbar_ids *result);
SANDBAR_IMPORT(proc_setpgid) int32_t sandbar_proc_setpgid(int32_t pid, int32_t pgid);
SANDBAR_IMPORT(proc_setsid) int32_t sandbar_proc_setsid(int32_t *sid);
/* umask(2); with 0xffffffff it only reads. */
SANDBAR_IMPORT(proc_umask) int32_t sandbar_proc_umask(uint32_t mask, uint32_t *previous);
/* The current directory without a NUL. ERANGE when `len` is short (then *needed says how long), ENOENT when it was removed. */
SANDBAR_IMPORT(proc_getcwd) int32_t sandbar_proc_getcwd(uint8_t *buffer, uint32_t len, uint32_t *needed);
SANDBAR_IMPORT(proc_chdir) int32_t sandbar_proc_chdir(int32_t dirfd, const uint8_t *path, uint32_t len);

#define SANDBAR_SIG_DFL    0u
#define SANDBAR_SIG_IGN    1u
#define SANDBAR_SIG_HANDLE 2u

/* Sets what a signal does. HANDLE: it is collected in the pending word (below) instead of its default action. EINVAL for 9, 19. */
SANDBAR_IMPORT(sig_action) int32_t sandbar_sig_action(uint32_t signal, uint32_t disposition, uint32_t *previous);
/* how: 0 block, 1 unblock, 2 set, 3 only read. */
SANDBAR_IMPORT(sig_mask) int32_t sandbar_sig_mask(uint32_t how, uint32_t set, uint32_t *previous);
/* Registers an aligned 32-bit word of the guest's memory into which the kernel ORs bit n-1 for a handled signal n, even in the
 * middle of a computation. 0 unregisters. A waiting call returns EINTR afterwards. */
SANDBAR_IMPORT(sig_word) int32_t sandbar_sig_word(uint32_t *word);
/* Reads and clears the word and what is pending in the kernel for handled, unblocked signals. */
SANDBAR_IMPORT(sig_take) int32_t sandbar_sig_take(uint32_t *pending);
/* [waits] Until a handled signal arrives; always EINTR. */
SANDBAR_IMPORT(sig_pause) int32_t sandbar_sig_pause(void);
/* alarm(2) in nanoseconds: SIGALRM after `ns`, 0 cancels; *left gets what remained. */
SANDBAR_IMPORT(sig_alarm) int32_t sandbar_sig_alarm(uint64_t ns, uint64_t *left);

typedef struct {
    uint32_t size, pad;
    uint64_t user_ns, system_ns;
    uint64_t max_rss;       /* bytes */
} sandbar_usage;

/* who: 0 the caller, 1 its waited-for children. */
SANDBAR_IMPORT(proc_usage) int32_t sandbar_proc_usage(uint32_t who, sandbar_usage *result);

/* Linux numbers: CPU 0, FSIZE 1, DATA 2, STACK 3, CORE 4, NPROC 6, NOFILE 7, AS 9. UINT64_MAX is "unlimited". */
SANDBAR_IMPORT(proc_getrlimit) int32_t sandbar_proc_getrlimit(uint32_t resource, uint64_t *soft, uint64_t *hard);
/* Lowering only, and raising soft up to hard. EPERM above hard. */
SANDBAR_IMPORT(proc_setrlimit) int32_t sandbar_proc_setrlimit(uint32_t resource, uint64_t soft, uint64_t hard);

/* ---- descriptors ---------------------------------------------------------------------------------------------- */

#define SANDBAR_FD_CLOEXEC 1u

/* fcntl(F_DUPFD): the lowest free number >= min. flags: SANDBAR_FD_CLOEXEC. EMFILE, EBADF, EINVAL. */
SANDBAR_IMPORT(fd_dup) int32_t sandbar_fd_dup(int32_t fd, int32_t min, uint32_t flags, int32_t *result);
/* dup3(2), but `from` == `to` is allowed and only sets the flags. */
SANDBAR_IMPORT(fd_dup2) int32_t sandbar_fd_dup2(int32_t from, int32_t to, uint32_t flags);
/* pipe2(2). flags: SANDBAR_FD_CLOEXEC, SANDBAR_O_NONBLOCK. */
SANDBAR_IMPORT(fd_pipe) int32_t sandbar_fd_pipe(uint32_t flags, int32_t *read_end, int32_t *write_end);
/* fcntl(F_GETFD / F_SETFD). */
SANDBAR_IMPORT(fd_getfd) int32_t sandbar_fd_getfd(int32_t fd, uint32_t *flags);
SANDBAR_IMPORT(fd_setfd) int32_t sandbar_fd_setfd(int32_t fd, uint32_t flags);
/* fcntl(F_GETFL) in SANDBAR_O_* bits, access mode included. F_SETFL is preview 1's fd_fdstat_set_flags. */
SANDBAR_IMPORT(fd_getfl) int32_t sandbar_fd_getfl(int32_t fd, uint32_t *flags);
/* 1 when the descriptor is a terminal. */
SANDBAR_IMPORT(fd_isatty) int32_t sandbar_fd_isatty(int32_t fd, uint32_t *result);
/* Window size of a terminal. ENOTTY. */
SANDBAR_IMPORT(fd_winsize) int32_t sandbar_fd_winsize(int32_t fd, uint32_t *rows, uint32_t *columns);
/* [waits] flock(2): 1 shared, 2 exclusive, 8 unlock, | 4 do not wait. */
SANDBAR_IMPORT(fd_flock) int32_t sandbar_fd_flock(int32_t fd, uint32_t operation);

typedef struct {
    uint32_t size;
    uint32_t type;          /* 0 read lock, 1 write lock, 2 unlock */
    uint64_t start, len;    /* absolute; len 0 is to the end */
    int32_t pid;            /* of the holder, from GETLK */
    uint32_t pad;
} sandbar_lock;

/* [waits] fcntl record locks; command: 0 GETLK, 1 SETLK, 2 SETLKW. */
SANDBAR_IMPORT(fd_lock) int32_t sandbar_fd_lock(int32_t fd, uint32_t command, sandbar_lock *lock);

/* ---- files ---------------------------------------------------------------------------------------------------- */

typedef struct {
    uint32_t size;
    uint32_t mode;          /* S_IF* | permissions, Linux's octal values, FIFOs included */
    uint64_t dev, ino, nlink;
    uint32_t uid, gid;
    uint64_t rdev, length, blocks; /* blocks of 512 bytes */
    uint32_t blksize, pad;
    int64_t atime_ns, mtime_ns, ctime_ns;
} sandbar_stat;

#define SANDBAR_AT_SYMLINK_NOFOLLOW 1u

#define SANDBAR_O_RDONLY    0u
#define SANDBAR_O_WRONLY    1u
#define SANDBAR_O_RDWR      2u
#define SANDBAR_O_ACCMODE   3u
#define SANDBAR_O_CREAT     0100u
#define SANDBAR_O_EXCL      0200u
#define SANDBAR_O_TRUNC     01000u
#define SANDBAR_O_APPEND    02000u
#define SANDBAR_O_NONBLOCK  04000u
#define SANDBAR_O_DIRECTORY 0200000u
#define SANDBAR_O_NOFOLLOW  0400000u
#define SANDBAR_O_CLOEXEC   02000000u

/* [waits on a FIFO] openat(2) with Linux's values of the flags on x86-64; `mode` is masked by the umask. */
SANDBAR_IMPORT(path_open) int32_t sandbar_path_open(int32_t dirfd, const uint8_t *path, uint32_t len, uint32_t flags, uint32_t mode, int32_t *fd);
SANDBAR_IMPORT(path_stat) int32_t sandbar_path_stat(int32_t dirfd, uint32_t flags, const uint8_t *path, uint32_t len, sandbar_stat *result);
SANDBAR_IMPORT(fd_stat) int32_t sandbar_fd_stat(int32_t fd, sandbar_stat *result);
SANDBAR_IMPORT(path_mkdir) int32_t sandbar_path_mkdir(int32_t dirfd, const uint8_t *path, uint32_t len, uint32_t mode);
SANDBAR_IMPORT(path_mkfifo) int32_t sandbar_path_mkfifo(int32_t dirfd, const uint8_t *path, uint32_t len, uint32_t mode);
SANDBAR_IMPORT(path_chmod) int32_t sandbar_path_chmod(int32_t dirfd, uint32_t flags, const uint8_t *path, uint32_t len, uint32_t mode);
SANDBAR_IMPORT(fd_chmod) int32_t sandbar_fd_chmod(int32_t fd, uint32_t mode);
/* chown(2): 0xffffffff leaves an id as it is; any other owner than the one user is EPERM. */
SANDBAR_IMPORT(path_chown) int32_t sandbar_path_chown(int32_t dirfd, uint32_t flags, const uint8_t *path, uint32_t len, uint32_t uid, uint32_t gid);
SANDBAR_IMPORT(fd_chown) int32_t sandbar_fd_chown(int32_t fd, uint32_t uid, uint32_t gid);
/* access(2): mode 4 read, 2 write, 1 execute, 0 exists. */
SANDBAR_IMPORT(path_access) int32_t sandbar_path_access(int32_t dirfd, uint32_t flags, const uint8_t *path, uint32_t len, uint32_t mode);

#define SANDBAR_RENAME_NOREPLACE 1u
#define SANDBAR_RENAME_EXCHANGE  2u

/* renameat2(2). */
SANDBAR_IMPORT(path_rename) int32_t sandbar_path_rename(int32_t from_dirfd, const uint8_t *from, uint32_t from_len, int32_t to_dirfd, const uint8_t *to, uint32_t to_len, uint32_t flags);

/* The rest of the *at family for aware guests: preview 1's calls take SANDBAR_CWD_FD and SANDBAR_ROOT_FD too
 * (path_symlink, path_link, path_readlink, path_unlink_file, path_remove_directory, path_filestat_set_times). */

typedef struct {
    uint32_t size, flags;   /* flags: 1 read-only */
    uint64_t block_size, blocks, blocks_free, files, files_free;
    uint64_t name_max, fs_id;
} sandbar_statfs;

SANDBAR_IMPORT(path_statfs) int32_t sandbar_path_statfs(int32_t dirfd, const uint8_t *path, uint32_t len, sandbar_statfs *result);
SANDBAR_IMPORT(fd_statfs) int32_t sandbar_fd_statfs(int32_t fd, sandbar_statfs *result);

#ifdef __cplusplus
}
#endif
#endif /* SANDBAR_H */
