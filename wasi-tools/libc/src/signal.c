/*
 * Signals. A guest can't be interrupted in the middle of a function, so a handler runs when the guest next looks: the kernel
 * sets bits in `pending_word` at once, and every call of this library that waits returns EINTR after running the handlers.
 */
#include "internal.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#define SIGNALS 32 /* 1–31 */

static struct sigaction actions[SIGNALS];
static volatile uint32_t pending_word;
static bool word_registered;

void __SIG_ERR(int signal) { (void)signal; }
void __SIG_IGN(int signal) { (void)signal; }

static bool valid(int signal) { return signal > 0 && signal < SIGNALS; }
static uint32_t bit(int signal) { return 1u << (signal - 1); }

static void run_handler(int signal) {
    struct sigaction action = actions[signal];
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) return;
    if (action.sa_flags & (int)SA_RESETHAND) sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    uint32_t blocked = action.sa_mask | (action.sa_flags & SA_NODEFER ? 0 : bit(signal));
    uint32_t before = 0;
    bool masked = sandbar_sig_mask(SIG_BLOCK, blocked, &before) == 0;
    int saved_errno = errno;
    if (action.sa_flags & SA_SIGINFO) {
        siginfo_t information = {.si_signo = signal, .si_code = SI_USER};
        action.sa_sigaction(signal, &information, NULL);
    } else {
        action.sa_handler(signal);
    }
    errno = saved_errno;
    uint32_t ignored;
    if (masked) (void)!sandbar_sig_mask(SIG_SETMASK, before, &ignored);
}

void sandbar_run_handlers(void) {
    uint32_t pending = 0;
    /* A handler may raise another signal: look again until there is none. */
    while (sandbar_sig_take(&pending) == 0 && pending != 0)
        for (int signal = 1; signal < SIGNALS; signal++)
            if (pending & bit(signal)) run_handler(signal);
}

int sigaction(int signal, const struct sigaction *restrict action, struct sigaction *restrict previous) {
    if (!valid(signal)) {
        errno = EINVAL;
        return -1;
    }
    struct sigaction old = actions[signal];
    if (action != NULL) {
        uint32_t disposition = SANDBAR_SIG_HANDLE;
        if (action->sa_handler == SIG_DFL) disposition = SANDBAR_SIG_DFL;
        else if (action->sa_handler == SIG_IGN) disposition = SANDBAR_SIG_IGN;
        if (disposition == SANDBAR_SIG_HANDLE && !word_registered) {
            if (sandbar_result(sandbar_sig_word((uint32_t *)&pending_word))) return -1;
            word_registered = true;
        }
        uint32_t before = SANDBAR_SIG_DFL;
        if (sandbar_result(sandbar_sig_action((uint32_t)signal, disposition, &before))) return -1;
        actions[signal] = *action;
        /* What the parent ignores is ignored here too, before anything was set. */
        if (before == SANDBAR_SIG_IGN) old.sa_handler = SIG_IGN;
    }
    if (previous != NULL) *previous = old;
    return 0;
}

void (*signal(int number, void (*handler)(int)))(int) {
    struct sigaction old, new = {.sa_handler = handler, .sa_flags = SA_RESTART};
    return sigaction(number, &new, &old) == 0 ? old.sa_handler : SIG_ERR;
}

int siginterrupt(int signal, int interrupt) {
    (void)interrupt; /* a waiting call always ends with EINTR */
    if (valid(signal)) return 0;
    errno = EINVAL;
    return -1;
}

int sigemptyset(sigset_t *set) { return *set = 0, 0; }
int sigfillset(sigset_t *set) { return *set = 0x7fffffff, 0; }

int sigaddset(sigset_t *set, int signal) {
    if (!valid(signal)) return errno = EINVAL, -1;
    *set |= bit(signal);
    return 0;
}

int sigdelset(sigset_t *set, int signal) {
    if (!valid(signal)) return errno = EINVAL, -1;
    *set &= ~bit(signal);
    return 0;
}

int sigismember(const sigset_t *set, int signal) {
    if (!valid(signal)) return errno = EINVAL, -1;
    return (*set & bit(signal)) != 0;
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict previous) {
    uint32_t old = 0;
    const uint32_t only_read = 3;
    int result = sandbar_result(sandbar_sig_mask(set != NULL ? (uint32_t)how : only_read, set != NULL ? *set : 0, &old));
    if (result == 0 && previous != NULL) *previous = old;
    if (result == 0 && set != NULL) sandbar_run_handlers(); /* an unblocked one may be waiting */
    return result;
}

int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict previous) {
    return sigprocmask(how, set, previous) == 0 ? 0 : errno;
}

/* Only what already reached this process's word; blocked signals stay with the kernel, which has no call to show them. */
int sigpending(sigset_t *set) { return *set = pending_word, 0; }

int pause(void) { return sandbar_waited(sandbar_sig_pause()); }

int sigsuspend(const sigset_t *mask) {
    uint32_t before = 0, ignored;
    if (sandbar_result(sandbar_sig_mask(SIG_SETMASK, *mask, &before))) return -1;
    int32_t error = sandbar_sig_pause();
    sandbar_run_handlers();
    (void)!sandbar_sig_mask(SIG_SETMASK, before, &ignored);
    return sandbar_result(error);
}

unsigned alarm(unsigned seconds) {
    uint64_t left = 0;
    (void)!sandbar_sig_alarm(seconds * UINT64_C(1000000000), &left);
    return (unsigned)((left + 999999999) / 1000000000);
}

int kill(pid_t pid, int signal) {
    if (signal < 0) return errno = EINVAL, -1;
    int result = sandbar_result(sandbar_proc_kill(pid, (uint32_t)signal));
    sandbar_run_handlers(); /* POSIX: one sent to oneself is delivered before kill returns */
    return result;
}

int killpg(pid_t group, int signal) {
    if (group < 0) return errno = EINVAL, -1;
    return kill(-group, signal);
}

int raise(int signal) { return kill(getpid(), signal); }

/* Ends with ABRT, whatever is set for it: POSIX abort(3). */
_Noreturn void abort(void) {
    raise(SIGABRT);
    uint32_t ignored;
    (void)!sandbar_sig_action(SIGABRT, SANDBAR_SIG_DFL, &ignored);
    (void)!sandbar_sig_mask(SIG_UNBLOCK, bit(SIGABRT), &ignored);
    raise(SIGABRT);
    __builtin_trap();
}
