/* access(2): the kernel's answer, by the permission bits of the file. */
#include "internal.h"

#include <unistd.h>
#include <wasi/libc.h>

/* sandbar.h counts as access(2) does on Linux; wasi-libc swaps read and execute's names but not their numbers. */
_Static_assert(X_OK == 1 && W_OK == 2 && R_OK == 4, "access modes are the kernel's");

int faccessat(int dirfd, const char *path, int mode, int flags) {
    return sandbar_result(
        sandbar_path_access(sandbar_dirfd(dirfd), sandbar_at_flags(flags), SANDBAR_PATH(path), (uint32_t)mode));
}

int access(const char *path, int mode) { return faccessat(AT_FDCWD, path, mode, 0); }

int eaccess(const char *path, int mode) { return access(path, mode); }

int euidaccess(const char *path, int mode) { return access(path, mode); }

/* wasi-libc's own doors. */

int __wasilibc_access(const char *path, int mode, int flags) { return faccessat(AT_FDCWD, path, mode, flags); }

int __wasilibc_nocwd_faccessat(int dirfd, const char *path, int mode, int flags) {
    return faccessat(dirfd, path, mode, flags);
}
