/* system(3) and popen(3): a command line for /bin/sh. */
#include "internal.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int start_shell(pid_t *pid, const char *command, const posix_spawn_file_actions_t *actions) {
    char *argv[] = {"sh", "-c", (char *)command, NULL};
    return posix_spawn(pid, "/bin/sh", actions, NULL, argv, environ);
}

int system(const char *command) {
    if (command == NULL) return access("/bin/sh", X_OK) == 0;
    pid_t pid;
    int status = 127 << 8, error = start_shell(&pid, command, NULL);
    if (error != 0) return errno = error, -1;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return status;
}

/* The streams that popen made, with the process behind each. */
struct piped {
    struct piped *next;
    FILE *stream;
    pid_t pid;
};

static struct piped *open_streams;

static FILE *remember(int fd, const char *mode, pid_t pid) {
    struct piped *piped = malloc(sizeof *piped);
    FILE *stream = piped != NULL ? fdopen(fd, mode) : NULL;
    if (stream == NULL) {
        free(piped);
        return NULL;
    }
    *piped = (struct piped){open_streams, stream, pid};
    open_streams = piped;
    return stream;
}

FILE *popen(const char *command, const char *mode) {
    int reading = mode[0] == 'r';
    if (!reading && mode[0] != 'w') return errno = EINVAL, NULL;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return NULL;
    int own = ends[reading ? 0 : 1], childs = ends[reading ? 1 : 0];
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    pid_t pid = 0;
    int error = posix_spawn_file_actions_adddup2(&actions, childs, reading ? STDOUT_FILENO : STDIN_FILENO);
    if (error == 0) error = start_shell(&pid, command, &actions);
    posix_spawn_file_actions_destroy(&actions);
    close(childs);
    FILE *stream = error == 0 ? remember(own, reading ? "r" : "w", pid) : NULL;
    if (stream == NULL) {
        close(own);
        if (error != 0) errno = error;
    }
    return stream;
}

int pclose(FILE *stream) {
    for (struct piped **link = &open_streams; *link != NULL; link = &(*link)->next) {
        if ((*link)->stream != stream) continue;
        struct piped *piped = *link;
        pid_t pid = piped->pid;
        *link = piped->next;
        free(piped);
        fclose(stream);
        int status = 0;
        while (waitpid(pid, &status, 0) < 0)
            if (errno != EINTR) return -1;
        return status;
    }
    return errno = EINVAL, -1;
}
