/*
 * wasi-libc looks up each path in a table of preopened directories, and joins relative paths to a string of its own. An aware
 * guest has neither: its root and its current directory are reserved descriptors, and the kernel resolves. So the look-up
 * answers "the current directory, the path as it is", which is right for absolute paths too, and every function of wasi-libc
 * that takes a path is right by it, in a snapshotted guest as well: nothing is set up at start.
 */
#include "internal.h"

#include <wasi/libc-find-relpath.h>
#include <wasi/libc.h>

int __wasilibc_find_relpath(const char *path, const char **abs_prefix, char **relative_path, size_t relative_path_len) {
    (void)relative_path_len; /* the buffer is not needed: the caller's own string is returned */
    *abs_prefix = "";
    *relative_path = (char *)path;
    return SANDBAR_CWD_FD;
}

int __wasilibc_find_relpath_alloc(const char *path, const char **abs_prefix, char **relative_path, size_t *relative_path_len,
                                  int can_realloc) {
    (void)can_realloc;
    return __wasilibc_find_relpath(path, abs_prefix, relative_path, *relative_path_len);
}

int __wasilibc_find_abspath(const char *path, const char **abs_prefix, const char **relative_path) {
    *abs_prefix = "";
    *relative_path = path;
    return SANDBAR_CWD_FD;
}

void __wasilibc_populate_preopens(void) {}

void __wasilibc_reset_preopens(void) {}

/* Accepted and ignored: the kernel's reserved descriptors are all that is ever looked up. */
int __wasilibc_register_preopened_fd(int fd, const char *prefix) {
    (void)fd;
    (void)prefix;
    return 0;
}
