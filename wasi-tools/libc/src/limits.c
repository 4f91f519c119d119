/* Resource limits and use. */
#include "internal.h"

#include <stdint.h>
#include <sys/resource.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

int getrlimit(int resource, struct rlimit *limit) {
    uint64_t soft = 0, hard = 0;
    if (sandbar_result(sandbar_proc_getrlimit((uint32_t)resource, &soft, &hard))) return -1;
    *limit = (struct rlimit){.rlim_cur = soft, .rlim_max = hard};
    return 0;
}

int setrlimit(int resource, const struct rlimit *limit) {
    return sandbar_result(sandbar_proc_setrlimit((uint32_t)resource, limit->rlim_cur, limit->rlim_max));
}

int getdtablesize(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT32_MAX) return 1024;
    return (int)limit.rlim_cur;
}

static int usage_of(int who, sandbar_usage *usage) {
    *usage = (sandbar_usage){.size = sizeof *usage};
    return sandbar_result(sandbar_proc_usage(who == RUSAGE_CHILDREN ? 1 : 0, usage));
}

static struct timeval timeval_of(uint64_t ns) {
    return (struct timeval){.tv_sec = (time_t)(ns / 1000000000), .tv_usec = (suseconds_t)(ns / 1000 % 1000000)};
}

int getrusage(int who, struct rusage *result) {
    if (who != RUSAGE_SELF && who != RUSAGE_CHILDREN) return errno = EINVAL, -1;
    sandbar_usage usage;
    if (usage_of(who, &usage)) return -1;
    *result = (struct rusage){
        .ru_utime = timeval_of(usage.user_ns),
        .ru_stime = timeval_of(usage.system_ns),
        .ru_maxrss = (long)(usage.max_rss / 1024),
    };
    return 0;
}

/* In ticks of sysconf(_SC_CLK_TCK), which wasi-libc gives as 100 a second. */
static clock_t ticks(uint64_t ns) { return (clock_t)(ns / 10000000); }

clock_t times(struct tms *result) {
    sandbar_usage own, children;
    struct timespec now;
    if (usage_of(RUSAGE_SELF, &own) || usage_of(RUSAGE_CHILDREN, &children)) return (clock_t)-1;
    if (result != NULL)
        *result = (struct tms){
            .tms_utime = ticks(own.user_ns),
            .tms_stime = ticks(own.system_ns),
            .tms_cutime = ticks(children.user_ns),
            .tms_cstime = ticks(children.system_ns),
        };
    if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return (clock_t)-1;
    return ticks((uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec);
}

/* Processor time of this process, in CLOCKS_PER_SEC, which wasi-libc has in nanoseconds. */
clock_t clock(void) {
    sandbar_usage usage;
    if (usage_of(RUSAGE_SELF, &usage)) return (clock_t)-1;
    return (clock_t)((usage.user_ns + usage.system_ns) / (1000000000 / CLOCKS_PER_SEC));
}

/* Priorities are kept by nobody: every process has 0, and lowering it changes nothing. */
int getpriority(int which, id_t who) {
    (void)which;
    (void)who;
    return 0;
}

int setpriority(int which, id_t who, int priority) {
    (void)which;
    (void)who;
    return priority >= 0 ? 0 : (errno = EACCES, -1);
}

int nice(int increment) { return increment >= 0 ? 0 : (errno = EPERM, -1); }
