/* rename(2), with renameat2's flags. */
#include "internal.h"

#include <stdio.h>
#include <unistd.h>

int renameat2(int from_dirfd, const char *from, int to_dirfd, const char *to, unsigned flags) {
    return sandbar_result(sandbar_path_rename(sandbar_dirfd(from_dirfd), SANDBAR_PATH(from), sandbar_dirfd(to_dirfd),
                                              SANDBAR_PATH(to), flags));
}

int renameat(int from_dirfd, const char *from, int to_dirfd, const char *to) {
    return renameat2(from_dirfd, from, to_dirfd, to, 0);
}

int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int __wasilibc_nocwd_renameat(int from_dirfd, const char *from, int to_dirfd, const char *to) {
    return renameat2(from_dirfd, from, to_dirfd, to, 0);
}
