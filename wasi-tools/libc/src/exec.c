/* The exec family. */
#include "request.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

static int run(const char *path, char *const argv[], char *const envp[], uint32_t flags) {
    sandbar_spawn request;
    if (sandbar_request(&request, path, argv, envp)) return -1;
    request.flags |= flags;
    int result = sandbar_result(sandbar_proc_exec(&request));
    sandbar_release(&request);
    return result;
}

int execve(const char *path, char *const argv[], char *const envp[]) { return run(path, argv, envp, 0); }
int execv(const char *path, char *const argv[]) { return run(path, argv, environ, 0); }
int execvp(const char *name, char *const argv[]) { return run(name, argv, environ, SANDBAR_SPAWN_SEARCH); }

int execvpe(const char *name, char *const argv[], char *const envp[]) {
    return run(name, argv, envp, SANDBAR_SPAWN_SEARCH);
}

/* The arguments of an execl call as a list; `rest` is left behind the terminating null. NULL with ENOMEM. */
static char **collect(const char *first, va_list *rest) {
    size_t count = 0, room = 8;
    char **argv = malloc(room * sizeof *argv);
    for (char *next = (char *)first; argv != NULL; next = va_arg(*rest, char *)) {
        argv[count++] = next;
        if (next == NULL) return argv;
        if (count == room) {
            char **larger = realloc(argv, (room *= 2) * sizeof *argv);
            if (larger == NULL) free(argv);
            argv = larger;
        }
    }
    errno = ENOMEM;
    return NULL;
}

int execl(const char *path, const char *first, ...) {
    va_list rest;
    va_start(rest, first);
    char **argv = collect(first, &rest);
    va_end(rest);
    int result = argv != NULL ? execv(path, argv) : -1;
    free(argv);
    return result;
}

int execlp(const char *name, const char *first, ...) {
    va_list rest;
    va_start(rest, first);
    char **argv = collect(first, &rest);
    va_end(rest);
    int result = argv != NULL ? execvp(name, argv) : -1;
    free(argv);
    return result;
}

int execle(const char *path, const char *first, ...) {
    va_list rest;
    va_start(rest, first);
    char **argv = collect(first, &rest);
    char *const *envp = va_arg(rest, char *const *);
    va_end(rest);
    int result = argv != NULL ? execve(path, argv, envp) : -1;
    free(argv);
    return result;
}
