/* statvfs and sync. */
#include "internal.h"

#include <sys/statvfs.h>
#include <unistd.h>

static int fill(int32_t error, const sandbar_statfs *from, struct statvfs *to) {
    if (sandbar_result(error)) return -1;
    *to = (struct statvfs){
        .f_bsize = (unsigned long)from->block_size,
        .f_frsize = (unsigned long)from->block_size,
        .f_blocks = from->blocks,
        .f_bfree = from->blocks_free,
        .f_bavail = from->blocks_free,
        .f_files = from->files,
        .f_ffree = from->files_free,
        .f_favail = from->files_free,
        .f_fsid = (unsigned long)from->fs_id,
        .f_flag = from->flags & 1 ? ST_RDONLY : 0,
        .f_namemax = (unsigned long)from->name_max,
    };
    return 0;
}

int statvfs(const char *restrict path, struct statvfs *restrict result) {
    sandbar_statfs answer = {.size = sizeof answer};
    return fill(sandbar_path_statfs(SANDBAR_CWD_FD, SANDBAR_PATH(path), &answer), &answer, result);
}

int fstatvfs(int fd, struct statvfs *result) {
    sandbar_statfs answer = {.size = sizeof answer};
    return fill(sandbar_fd_statfs(fd, &answer), &answer, result);
}

/* Nothing to do: what a guest wrote is with the kernel at once; fsync is what makes it durable. */
void sync(void) {}
