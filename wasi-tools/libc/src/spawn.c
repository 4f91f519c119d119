/*
 * posix_spawn. The kernel's request has a map of descriptors, not a list of actions, so the actions are played through on
 * a table here: opened files are opened by the parent (relative to the directory that the child starts in) and closed again
 * when the child has them.
 */
#include "request.h"

#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct __spawn_action {
    struct __spawn_action *next;
    enum { OPEN, CLOSE, DUP, CHDIR } kind;
    int fd, from;
    int flags;
    mode_t mode;
    char path[];
};

enum { CLOSED = -1, INHERITED = -2 };

/* ---- the child's descriptors ---- */

typedef struct {
    int child;
    int parent; /* the parent's descriptor it shares, or CLOSED */
} entry;

typedef struct {
    entry *entries;
    uint32_t count;
    int *opened; /* by us, to close afterwards */
    uint32_t opened_count;
    const char *directory; /* of the last chdir, or NULL */
} plan;

static int parent_of(const plan *plan, int child) {
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->entries[i].child == child) return plan->entries[i].parent;
    return INHERITED;
}

/* There is room: an action sets one entry, and the plan was made with as many as there are actions. */
static void set(plan *plan, int child, int parent) {
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->entries[i].child == child) {
            plan->entries[i].parent = parent;
            return;
        }
    plan->entries[plan->count++] = (entry){child, parent};
}

static int open_for_child(plan *plan, const struct __spawn_action *action) {
    int directory = AT_FDCWD;
    if (plan->directory != NULL && action->path[0] != '/') {
        directory = open(plan->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0) return errno;
    }
    int fd = openat(directory, action->path, action->flags | O_CLOEXEC, action->mode);
    int error = errno;
    if (directory != AT_FDCWD) close(directory);
    if (fd < 0) return error;
    /* Out of the way of the numbers that later actions speak of. */
    int away = fcntl(fd, F_DUPFD_CLOEXEC, 64);
    if (away >= 0) {
        close(fd);
        fd = away;
    }
    plan->opened[plan->opened_count++] = fd;
    set(plan, action->fd, fd);
    return 0;
}

static int play(plan *plan, const struct __spawn_action *action) {
    int source;
    switch (action->kind) {
    case OPEN: return open_for_child(plan, action);
    case CLOSE: set(plan, action->fd, CLOSED); return 0;
    case CHDIR: plan->directory = action->path; return 0;
    case DUP:
        source = parent_of(plan, action->from);
        if (source == INHERITED) source = fcntl(action->from, F_GETFD) < 0 ? CLOSED : action->from;
        if (source == CLOSED) return EBADF;
        set(plan, action->fd, source);
        return 0;
    }
    return EINVAL;
}

/* Puts the plan into the request: with ALLFDS every descriptor is passed, so a closed one needs an explicit map instead. */
static int map_descriptors(const plan *plan, sandbar_spawn *request) {
    bool closes = false;
    for (uint32_t i = 0; i < plan->count; i++) closes |= plan->entries[i].parent == CLOSED;
    int highest = closes ? sysconf(_SC_OPEN_MAX) > 0 && sysconf(_SC_OPEN_MAX) < 4096 ? (int)sysconf(_SC_OPEN_MAX) : 4096 : 0;
    sandbar_fd_map *map = calloc(plan->count + (uint32_t)highest + 1, sizeof *map);
    if (map == NULL) return ENOMEM;
    uint32_t count = 0;
    for (int fd = 0; fd < highest; fd++) {
        uint32_t flags = 0;
        if (parent_of(plan, fd) == INHERITED && sandbar_fd_getfd(fd, &flags) == 0 && !(flags & SANDBAR_FD_CLOEXEC))
            map[count++] = (sandbar_fd_map){fd, fd};
    }
    for (uint32_t i = 0; i < plan->count; i++)
        if (plan->entries[i].parent != CLOSED) map[count++] = (sandbar_fd_map){plan->entries[i].child, plan->entries[i].parent};
    if (closes) request->flags &= ~SANDBAR_SPAWN_ALLFDS;
    request->fds = (uint32_t)(uintptr_t)map;
    request->nfds = count;
    return 0;
}

static int apply_actions(const posix_spawn_file_actions_t *actions, sandbar_spawn *request, plan *plan) {
    uint32_t count = 0;
    for (const struct __spawn_action *action = actions->__first; action != NULL; action = action->next) count++;
    plan->entries = calloc(count + 1, sizeof *plan->entries);
    plan->opened = calloc(count + 1, sizeof *plan->opened);
    if (plan->entries == NULL || plan->opened == NULL) return ENOMEM;
    for (const struct __spawn_action *action = actions->__first; action != NULL; action = action->next) {
        int error = play(plan, action);
        if (error != 0) return error;
    }
    if (plan->directory != NULL) {
        request->flags |= SANDBAR_SPAWN_CWD;
        request->cwd = (sandbar_bytes){(uint32_t)(uintptr_t)plan->directory, (uint32_t)strlen(plan->directory)};
    }
    return map_descriptors(plan, request);
}

static void apply_attributes(const posix_spawnattr_t *attributes, sandbar_spawn *request) {
    if (attributes->__flags & POSIX_SPAWN_SETPGROUP) {
        request->flags |= SANDBAR_SPAWN_PGROUP;
        request->pgid = attributes->__pgroup;
    }
    if (attributes->__flags & POSIX_SPAWN_SETSID) request->flags |= SANDBAR_SPAWN_SETSID;
    if (attributes->__flags & POSIX_SPAWN_SETSIGMASK) {
        request->flags |= SANDBAR_SPAWN_SIGMASK;
        request->sigmask = attributes->__mask;
    }
    if (attributes->__flags & POSIX_SPAWN_SETSIGDEF) {
        request->flags |= SANDBAR_SPAWN_SIGIGN;
        request->sigignore = 0;
        for (int signal = 1; signal < 32; signal++) {
            /* Reading a disposition needs a change; what is put back is what was there. */
            uint32_t before, ignored;
            if (sandbar_sig_action((uint32_t)signal, SANDBAR_SIG_IGN, &before) != 0) continue;
            (void)!sandbar_sig_action((uint32_t)signal, before, &ignored);
            if (before == SANDBAR_SIG_IGN) request->sigignore |= 1u << (signal - 1);
        }
        request->sigignore &= ~attributes->__default;
    }
}

static int spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const argv[], char *const envp[], uint32_t flags) {
    sandbar_spawn request;
    plan plan = {0};
    if (sandbar_request(&request, path, argv, envp)) return errno;
    request.flags |= flags;
    int error = 0;
    if (attributes != NULL) apply_attributes(attributes, &request);
    if (actions != NULL && actions->__first != NULL) error = apply_actions(actions, &request, &plan);
    int32_t child = 0;
    if (error == 0) error = sandbar_proc_spawn(&request, &child);
    if (error == 0 && pid != NULL) *pid = child;
    for (uint32_t i = 0; i < plan.opened_count; i++) close(plan.opened[i]);
    free(plan.opened);
    free(plan.entries);
    sandbar_release(&request);
    return error;
}

int posix_spawn(pid_t *restrict pid, const char *restrict path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *restrict attributes, char *const *restrict argv, char *const *restrict envp) {
    return spawn(pid, path, actions, attributes, argv, envp, 0);
}

int posix_spawnp(pid_t *restrict pid, const char *restrict name, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *restrict attributes, char *const *restrict argv, char *const *restrict envp) {
    return spawn(pid, name, actions, attributes, argv, envp, SANDBAR_SPAWN_SEARCH);
}

/* ---- the lists of actions ---- */

int posix_spawn_file_actions_init(posix_spawn_file_actions_t *actions) {
    *actions = (posix_spawn_file_actions_t){0};
    return 0;
}

int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *actions) {
    for (struct __spawn_action *action = actions->__first, *next; action != NULL; action = next) {
        next = action->next;
        free(action);
    }
    return posix_spawn_file_actions_init(actions);
}

static int append(posix_spawn_file_actions_t *actions, struct __spawn_action wanted, const char *path) {
    size_t length = strlen(path) + 1;
    struct __spawn_action *action = malloc(sizeof *action + length);
    if (action == NULL) return ENOMEM;
    *action = wanted;
    memcpy(action->path, path, length);
    if (actions->__last != NULL) actions->__last->next = action;
    else actions->__first = action;
    actions->__last = action;
    return 0;
}

int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *restrict actions, int fd, const char *restrict path, int flags,
                                     mode_t mode) {
    if (fd < 0) return EBADF;
    return append(actions, (struct __spawn_action){.kind = OPEN, .fd = fd, .flags = flags, .mode = mode}, path);
}

int posix_spawn_file_actions_addclose(posix_spawn_file_actions_t *actions, int fd) {
    return fd < 0 ? EBADF : append(actions, (struct __spawn_action){.kind = CLOSE, .fd = fd}, "");
}

int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int from, int to) {
    if (from < 0 || to < 0) return EBADF;
    return append(actions, (struct __spawn_action){.kind = DUP, .fd = to, .from = from}, "");
}

int posix_spawn_file_actions_addchdir(posix_spawn_file_actions_t *restrict actions, const char *restrict path) {
    return append(actions, (struct __spawn_action){.kind = CHDIR}, path);
}

int posix_spawn_file_actions_addchdir_np(posix_spawn_file_actions_t *restrict actions, const char *restrict path) {
    return posix_spawn_file_actions_addchdir(actions, path);
}

/* ---- attributes ---- */

int posix_spawnattr_init(posix_spawnattr_t *attributes) {
    *attributes = (posix_spawnattr_t){0};
    return 0;
}

int posix_spawnattr_destroy(posix_spawnattr_t *attributes) {
    (void)attributes;
    return 0;
}

int posix_spawnattr_setflags(posix_spawnattr_t *attributes, short flags) { return attributes->__flags = flags, 0; }
int posix_spawnattr_setpgroup(posix_spawnattr_t *attributes, pid_t group) { return attributes->__pgroup = group, 0; }

int posix_spawnattr_getflags(const posix_spawnattr_t *restrict attributes, short *restrict flags) {
    return *flags = attributes->__flags, 0;
}

int posix_spawnattr_getpgroup(const posix_spawnattr_t *restrict attributes, pid_t *restrict group) {
    return *group = attributes->__pgroup, 0;
}

int posix_spawnattr_setsigmask(posix_spawnattr_t *restrict attributes, const sigset_t *restrict mask) {
    return attributes->__mask = *mask, 0;
}

int posix_spawnattr_getsigmask(const posix_spawnattr_t *restrict attributes, sigset_t *restrict mask) {
    return *mask = attributes->__mask, 0;
}

int posix_spawnattr_setsigdefault(posix_spawnattr_t *restrict attributes, const sigset_t *restrict set) {
    return attributes->__default = *set, 0;
}

int posix_spawnattr_getsigdefault(const posix_spawnattr_t *restrict attributes, sigset_t *restrict set) {
    return *set = attributes->__default, 0;
}
