/* What makes and changes modes and owners: mkdir, mkfifo, chmod, chown, umask. */
#include "internal.h"

#include <sys/stat.h>
#include <sys/types.h>

int mkdirat(int dirfd, const char *path, mode_t mode) {
    return sandbar_result(sandbar_path_mkdir(sandbar_dirfd(dirfd), SANDBAR_PATH(path), mode));
}

int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int __wasilibc_nocwd_mkdirat_nomode(int dirfd, const char *path) { return mkdirat(dirfd, path, 0777); }

int mkfifoat(int dirfd, const char *path, mode_t mode) {
    return sandbar_result(sandbar_path_mkfifo(sandbar_dirfd(dirfd), SANDBAR_PATH(path), mode));
}

int mkfifo(const char *path, mode_t mode) { return mkfifoat(AT_FDCWD, path, mode); }

/* Only FIFOs can be made; devices are the kernel's. */
int mknodat(int dirfd, const char *path, mode_t mode, dev_t device) {
    (void)device;
    if ((mode & S_IFMT) == S_IFIFO) return mkfifoat(dirfd, path, mode & 07777);
    errno = EPERM;
    return -1;
}

int mknod(const char *path, mode_t mode, dev_t device) { return mknodat(AT_FDCWD, path, mode, device); }

int fchmodat(int dirfd, const char *path, mode_t mode, int flags) {
    return sandbar_result(sandbar_path_chmod(sandbar_dirfd(dirfd), sandbar_at_flags(flags), SANDBAR_PATH(path), mode & 07777));
}

int chmod(const char *path, mode_t mode) { return fchmodat(AT_FDCWD, path, mode, 0); }

int lchmod(const char *path, mode_t mode) { return fchmodat(AT_FDCWD, path, mode, AT_SYMLINK_NOFOLLOW); }

int fchmod(int fd, mode_t mode) { return sandbar_result(sandbar_fd_chmod(fd, mode & 07777)); }

int fchownat(int dirfd, const char *path, uid_t owner, gid_t group, int flags) {
    return sandbar_result(
        sandbar_path_chown(sandbar_dirfd(dirfd), sandbar_at_flags(flags), SANDBAR_PATH(path), owner, group));
}

int chown(const char *path, uid_t owner, gid_t group) { return fchownat(AT_FDCWD, path, owner, group, 0); }

int lchown(const char *path, uid_t owner, gid_t group) {
    return fchownat(AT_FDCWD, path, owner, group, AT_SYMLINK_NOFOLLOW);
}

int fchown(int fd, uid_t owner, gid_t group) { return sandbar_result(sandbar_fd_chown(fd, owner, group)); }

/* Always succeeds, as POSIX has it. */
mode_t umask(mode_t mask) {
    uint32_t previous = 0;
    (void)!sandbar_proc_umask(mask & 0777, &previous);
    return previous;
}
