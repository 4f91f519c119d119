/* The current directory, which the kernel keeps. */
#include "internal.h"

#include <stdlib.h>
#include <unistd.h>

/* No path of the kernel is longer (limits.rs). */
#define SANDBAR_PATH_MAX 4096

int chdir(const char *path) { return sandbar_result(sandbar_proc_chdir(SANDBAR_CWD_FD, SANDBAR_PATH(path))); }

int fchdir(int fd) { return sandbar_result(sandbar_proc_chdir(fd, SANDBAR_PATH("."))); }

/* With a null buffer the result is allocated, as everywhere but in POSIX's letter. */
char *getcwd(char *buffer, size_t size) {
    char *given = buffer;
    if (given == NULL) {
        size = SANDBAR_PATH_MAX;
        buffer = malloc(size);
        if (buffer == NULL) return NULL;
    } else if (size == 0) {
        errno = EINVAL;
        return NULL;
    }
    uint32_t length = 0;
    if (sandbar_result(sandbar_proc_getcwd((uint8_t *)buffer, (uint32_t)size - 1, &length))) {
        if (given == NULL) free(buffer);
        return NULL;
    }
    buffer[length] = 0;
    if (given != NULL) return buffer;
    char *fitting = realloc(buffer, length + 1);
    return fitting != NULL ? fitting : buffer;
}
