/* Building a sandbar_spawn from C strings, shared by spawn.c and exec.c. */
#ifndef SANDBAR_REQUEST_H
#define SANDBAR_REQUEST_H

#include "internal.h"

extern char **environ;

/* Turns a NULL-terminated list of strings into the kernel's; *count gets its length. NULL with ENOMEM. Free it. */
sandbar_bytes *sandbar_bytes_of(char *const strings[], uint32_t *count);

/* A request to run `path` with these arguments and environment; -1 with errno. Release it after use. */
int sandbar_request(sandbar_spawn *request, const char *path, char *const argv[], char *const envp[]);
void sandbar_release(sandbar_spawn *request);

#endif
