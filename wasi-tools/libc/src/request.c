#include "request.h"

#include <stdlib.h>

sandbar_bytes *sandbar_bytes_of(char *const strings[], uint32_t *count) {
    uint32_t length = 0;
    while (strings != NULL && strings[length] != NULL) length++;
    sandbar_bytes *list = calloc(length + 1, sizeof *list);
    if (list == NULL) return NULL;
    for (uint32_t i = 0; i < length; i++)
        list[i] = (sandbar_bytes){(uint32_t)(uintptr_t)strings[i], (uint32_t)strlen(strings[i])};
    *count = length;
    return list;
}

int sandbar_request(sandbar_spawn *request, const char *path, char *const argv[], char *const envp[]) {
    *request = (sandbar_spawn){
        .size = sizeof *request,
        .flags = SANDBAR_SPAWN_ENV | SANDBAR_SPAWN_ALLFDS,
        .path = {(uint32_t)(uintptr_t)path, (uint32_t)strlen(path)},
    };
    sandbar_bytes *arguments = sandbar_bytes_of(argv, &request->argc);
    sandbar_bytes *environment = sandbar_bytes_of(envp, &request->envc);
    request->argv = (uint32_t)(uintptr_t)arguments;
    request->env = (uint32_t)(uintptr_t)environment;
    if (arguments != NULL && environment != NULL) return 0;
    sandbar_release(request);
    return errno = ENOMEM, -1;
}

void sandbar_release(sandbar_spawn *request) {
    free((void *)(uintptr_t)request->argv);
    free((void *)(uintptr_t)request->env);
    free((void *)(uintptr_t)request->fds);
    request->argv = request->env = request->fds = 0;
}
