/* Who this process is, its groups, and waiting for its children. */
#include "internal.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static sandbar_ids ids_of(pid_t pid, int *result) {
    sandbar_ids ids = {.size = sizeof ids};
    *result = sandbar_result(sandbar_proc_ids(pid, &ids));
    return ids;
}

/* The caller's own ids always exist. */
static sandbar_ids own_ids(void) {
    int ignored;
    return ids_of(0, &ignored);
}

pid_t getpid(void) { return own_ids().pid; }
pid_t getppid(void) { return own_ids().ppid; }
pid_t getpgrp(void) { return own_ids().pgid; }
uid_t getuid(void) { return own_ids().uid; }
uid_t geteuid(void) { return own_ids().uid; }
gid_t getgid(void) { return own_ids().gid; }
gid_t getegid(void) { return own_ids().gid; }

pid_t getpgid(pid_t pid) {
    int failed;
    sandbar_ids ids = ids_of(pid, &failed);
    return failed ? -1 : ids.pgid;
}

pid_t getsid(pid_t pid) {
    int failed;
    sandbar_ids ids = ids_of(pid, &failed);
    return failed ? -1 : ids.sid;
}

int setpgid(pid_t pid, pid_t group) { return sandbar_result(sandbar_proc_setpgid(pid, group)); }

int setpgrp(void) { return setpgid(0, 0); }

pid_t setsid(void) {
    int32_t session = -1;
    return sandbar_result(sandbar_proc_setsid(&session)) ? -1 : session;
}

/* A sandbox's terminal has no foreground group of its own: the caller's is. */
pid_t tcgetpgrp(int fd) { return isatty(fd) ? getpgrp() : -1; }

int tcsetpgrp(int fd, pid_t group) {
    (void)group;
    return isatty(fd) ? 0 : -1;
}

int getgroups(int size, gid_t groups[]) {
    if (size < 0) return errno = EINVAL, -1;
    if (size > 0) groups[0] = getgid();
    return 1;
}

/* There is one user: becoming oneself works, becoming anybody else is refused. */
static int become(unsigned wanted, unsigned own) { return wanted == own ? 0 : (errno = EPERM, -1); }

int setuid(uid_t user) { return become(user, getuid()); }
int seteuid(uid_t user) { return become(user, getuid()); }
int setgid(gid_t group) { return become(group, getgid()); }
int setegid(gid_t group) { return become(group, getgid()); }

pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage) {
    sandbar_wait answer = {.size = sizeof answer};
    if (sandbar_waited(sandbar_proc_wait(pid, (uint32_t)options, &answer))) return -1;
    if (status != NULL && answer.pid != 0) *status = (int)answer.status;
    if (usage != NULL) {
        *usage = (struct rusage){.ru_maxrss = (long)(answer.max_rss / 1024)};
        usage->ru_utime.tv_sec = (time_t)(answer.cpu_ns / 1000000000);
        usage->ru_utime.tv_usec = (suseconds_t)(answer.cpu_ns / 1000 % 1000000);
    }
    return answer.pid;
}

pid_t waitpid(pid_t pid, int *status, int options) { return wait4(pid, status, options, NULL); }

pid_t wait3(int *status, int options, struct rusage *usage) { return wait4(-1, status, options, usage); }

pid_t wait(int *status) { return wait4(-1, status, 0, NULL); }
