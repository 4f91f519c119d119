/* mkstemp, mkdtemp and tmpfile, which wasi-libc has no directory for. */
#include "internal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { placeholders = 6, attempts = 100 };

/* Replaces the X's before the last `suffix` characters by random ones; EINVAL when there are none. */
static int randomise(char *template, int suffix) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t length = strlen(template);
    if (suffix < 0 || length < (size_t)placeholders + (size_t)suffix) return errno = EINVAL, -1;
    char *start = template + length - (size_t)suffix - placeholders;
    uint8_t bytes[placeholders];
    if (getentropy(bytes, sizeof bytes) != 0) return -1;
    for (int i = 0; i < placeholders; i++) start[i] = letters[bytes[i] % (sizeof letters - 1)];
    return 0;
}

static int has_placeholders(const char *template, int suffix) {
    size_t length = strlen(template);
    return suffix >= 0 && length >= (size_t)placeholders + (size_t)suffix &&
           memcmp(template + length - (size_t)suffix - placeholders, "XXXXXX", placeholders) == 0;
}

int mkostemps(char *template, int suffix, int flags) {
    if (!has_placeholders(template, suffix)) return errno = EINVAL, -1;
    for (int attempt = 0; attempt < attempts; attempt++) {
        if (randomise(template, suffix)) return -1;
        int fd = open(template, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

int mkstemps(char *template, int suffix) { return mkostemps(template, suffix, 0); }
int mkostemp(char *template, int flags) { return mkostemps(template, 0, flags); }
int mkstemp(char *template) { return mkostemps(template, 0, 0); }

char *mkdtemp(char *template) {
    if (!has_placeholders(template, 0)) return errno = EINVAL, NULL;
    for (int attempt = 0; attempt < attempts; attempt++) {
        if (randomise(template, 0)) return NULL;
        if (mkdir(template, 0700) == 0) return template;
        if (errno != EEXIST) return NULL;
    }
    return NULL;
}

FILE *tmpfile(void) {
    char name[] = "/tmp/tmpfile.XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0) return NULL;
    unlink(name);
    FILE *file = fdopen(fd, "w+");
    if (file == NULL) close(fd);
    return file;
}
