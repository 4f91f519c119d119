/* <sys/resource.h>: the process's limits and use, as Linux numbers them. wasi-libc's has an emulation of getrusage only. */
#ifndef SANDBAR_SYS_RESOURCE_H
#define SANDBAR_SYS_RESOURCE_H

/* Its structure is a different one, and nothing else of it is wanted. */
#define __wasilibc___struct_rusage_h
#define __wasilibc___header_sys_resource_h

#include <sys/time.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned long long rlim_t;

struct rlimit {
    rlim_t rlim_cur;
    rlim_t rlim_max;
};

/* Only the times and ru_maxrss (in KiB) are known; the others are 0. */
struct rusage {
    struct timeval ru_utime;
    struct timeval ru_stime;
    long ru_maxrss, ru_ixrss, ru_idrss, ru_isrss;
    long ru_minflt, ru_majflt, ru_nswap;
    long ru_inblock, ru_oublock;
    long ru_msgsnd, ru_msgrcv, ru_nsignals;
    long ru_nvcsw, ru_nivcsw;
};

#define RUSAGE_SELF     0
#define RUSAGE_CHILDREN (-1)

#define RLIM_INFINITY (~0ULL)

#define RLIMIT_CPU    0
#define RLIMIT_FSIZE  1
#define RLIMIT_DATA   2
#define RLIMIT_STACK  3
#define RLIMIT_CORE   4
#define RLIMIT_NPROC  6
#define RLIMIT_NOFILE 7
#define RLIMIT_AS     9

#define PRIO_PROCESS 0
#define PRIO_PGRP    1
#define PRIO_USER    2

int getrlimit(int, struct rlimit *);
int setrlimit(int, const struct rlimit *);
int getrusage(int, struct rusage *);
int getpriority(int, id_t);
int setpriority(int, id_t, int);

#ifdef __cplusplus
}
#endif
#endif
