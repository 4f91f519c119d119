/* wasi-libc's <signal.h> has names and numbers; this adds what works here: actions, masks, waiting. */
#ifndef SANDBAR_SIGNAL_H
#define SANDBAR_SIGNAL_H

#ifndef _WASI_EMULATED_SIGNAL
#define _WASI_EMULATED_SIGNAL
#endif
#include_next <signal.h>

#define __NEED_pid_t
#define __NEED_uid_t
#define __NEED_sigset_t
#include <bits/alltypes.h>
#include <__typedef_sigset_t.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SIG_BLOCK   0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

#define SA_NOCLDSTOP 1
#define SA_NOCLDWAIT 2
#define SA_SIGINFO   4
#define SA_ONSTACK   0x08000000
#define SA_RESTART   0x10000000
#define SA_NODEFER   0x40000000
#define SA_RESETHAND 0x80000000

#define SI_USER 0

union sigval {
    int sival_int;
    void *sival_ptr;
};

/* Only si_signo is known; the sender is not. */
typedef struct {
    int si_signo, si_errno, si_code;
    pid_t si_pid;
    uid_t si_uid;
    int si_status;
    void *si_addr;
    union sigval si_value;
} siginfo_t;

struct sigaction {
    union {
        void (*sa_handler)(int);
        void (*sa_sigaction)(int, siginfo_t *, void *);
    } __sa_handler;
    sigset_t sa_mask;
    int sa_flags;
    void (*sa_restorer)(void);
};
#define sa_handler   __sa_handler.sa_handler
#define sa_sigaction __sa_handler.sa_sigaction

int sigaction(int, const struct sigaction *__restrict, struct sigaction *__restrict);
int sigemptyset(sigset_t *);
int sigfillset(sigset_t *);
int sigaddset(sigset_t *, int);
int sigdelset(sigset_t *, int);
int sigismember(const sigset_t *, int);
int sigprocmask(int, const sigset_t *__restrict, sigset_t *__restrict);
int pthread_sigmask(int, const sigset_t *__restrict, sigset_t *__restrict);
int sigpending(sigset_t *);
int sigsuspend(const sigset_t *);
int siginterrupt(int, int);
int kill(pid_t, int);
int killpg(pid_t, int);

/* Runs the handlers of signals that have arrived. Calls that wait do this themselves; a long computation calls it now and then. */
void sandbar_run_handlers(void);

#ifdef __cplusplus
}
#endif
#endif
