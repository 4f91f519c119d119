/*
 * The calls that wait: reading, writing, polling, sleeping. They are wasi-libc's but for one thing: when a handled signal
 * ends them, its handler runs before they return EINTR.
 */
#include "internal.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <wasi/api.h>

/* ---- bytes ---- */

_Static_assert(sizeof(struct iovec) == sizeof(__wasi_iovec_t) && sizeof(struct iovec) == sizeof(__wasi_ciovec_t),
               "an iovec is WASI's");

ssize_t readv(int fd, const struct iovec *parts, int count) {
    if (count < 0) return errno = EINVAL, -1;
    __wasi_size_t done = 0;
    if (sandbar_waited(__wasi_fd_read(fd, (const __wasi_iovec_t *)parts, (size_t)count, &done))) return -1;
    return (ssize_t)done;
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    if (count < 0) return errno = EINVAL, -1;
    __wasi_size_t done = 0;
    if (sandbar_waited(__wasi_fd_write(fd, (const __wasi_ciovec_t *)parts, (size_t)count, &done))) return -1;
    return (ssize_t)done;
}

ssize_t read(int fd, void *buffer, size_t size) {
    return readv(fd, &(struct iovec){.iov_base = buffer, .iov_len = size}, 1);
}

ssize_t write(int fd, const void *buffer, size_t size) {
    return writev(fd, &(struct iovec){.iov_base = (void *)buffer, .iov_len = size}, 1);
}

/* ---- readiness ---- */

static __wasi_subscription_t timeout_of(__wasi_clockid_t clock, __wasi_timestamp_t ns, __wasi_subclockflags_t flags) {
    __wasi_subscription_t subscription = {.userdata = UINT64_MAX};
    subscription.u.tag = __WASI_EVENTTYPE_CLOCK;
    subscription.u.u.clock.id = clock;
    subscription.u.u.clock.timeout = ns;
    subscription.u.u.clock.flags = flags;
    return subscription;
}

static __wasi_subscription_t readiness_of(const struct pollfd *entry, uint64_t index, __wasi_eventtype_t type) {
    __wasi_subscription_t subscription = {.userdata = index};
    subscription.u.tag = type;
    subscription.u.u.fd_read.file_descriptor = entry->fd; /* fd_write has the same place */
    return subscription;
}

/* Notes an event in the entry it is about. */
static void note(struct pollfd *entries, const __wasi_event_t *event) {
    if (event->userdata == UINT64_MAX) return; /* the timeout */
    struct pollfd *entry = &entries[event->userdata];
    if (event->error == EBADF) entry->revents |= POLLNVAL;
    else if (event->error == EPIPE) entry->revents |= POLLHUP;
    else if (event->error != 0) entry->revents |= POLLERR;
    else entry->revents |= event->type == __WASI_EVENTTYPE_FD_READ ? POLLRDNORM : POLLWRNORM;
    if (event->fd_readwrite.flags & __WASI_EVENTRWFLAGS_FD_READWRITE_HANGUP) entry->revents |= POLLHUP;
}

int poll(struct pollfd *entries, nfds_t count, int timeout_ms) {
    if (count > INT_MAX / 2) return errno = EINVAL, -1;
    __wasi_subscription_t *wanted = calloc(2 * (size_t)count + 1, sizeof *wanted);
    __wasi_event_t *events = calloc(2 * (size_t)count + 1, sizeof *events);
    int result = -1;
    size_t subscriptions = 0;
    __wasi_size_t happened = 0;
    if (wanted == NULL || events == NULL) goto out;
    for (nfds_t i = 0; i < count; i++) {
        entries[i].revents = 0;
        if (entries[i].fd < 0) continue;
        if (entries[i].events & POLLRDNORM) wanted[subscriptions++] = readiness_of(&entries[i], i, __WASI_EVENTTYPE_FD_READ);
        if (entries[i].events & POLLWRNORM) wanted[subscriptions++] = readiness_of(&entries[i], i, __WASI_EVENTTYPE_FD_WRITE);
    }
    if (timeout_ms >= 0) wanted[subscriptions++] = timeout_of(__WASI_CLOCKID_MONOTONIC,
                                                              (__wasi_timestamp_t)timeout_ms * 1000000, 0);
    if (subscriptions == 0) { /* nothing to wait for but a signal */
        result = pause();
        goto out;
    }
    if (sandbar_waited(__wasi_poll_oneoff(wanted, events, subscriptions, &happened))) goto out;
    for (__wasi_size_t i = 0; i < happened; i++) note(entries, &events[i]);
    result = 0;
    for (nfds_t i = 0; i < count; i++) result += entries[i].revents != 0;
out:
    free(wanted);
    free(events);
    return result;
}

/* ---- sleep ---- */

static int64_t ns_of(const struct timespec *time) { return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec; }

/* Returns the error, as POSIX has it for this one. */
int clock_nanosleep(clockid_t clock, int flags, const struct timespec *request, struct timespec *rest) {
    if (request->tv_sec < 0 || request->tv_nsec < 0 || request->tv_nsec >= 1000000000) return EINVAL;
    __wasi_clockid_t id = clock == CLOCK_REALTIME ? __WASI_CLOCKID_REALTIME : __WASI_CLOCKID_MONOTONIC;
    int absolute = flags & TIMER_ABSTIME;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    __wasi_subscription_t wanted = timeout_of(id, (__wasi_timestamp_t)ns_of(request),
                                              absolute ? __WASI_SUBCLOCKFLAGS_SUBSCRIPTION_CLOCK_ABSTIME : 0);
    __wasi_event_t event;
    __wasi_size_t happened;
    if (sandbar_waited(__wasi_poll_oneoff(&wanted, &event, 1, &happened)) == 0) return event.error;
    int error = errno;
    if (error == EINTR && rest != NULL && !absolute) {
        clock_gettime(CLOCK_MONOTONIC, &after);
        int64_t left = ns_of(request) - (ns_of(&after) - ns_of(&before));
        if (left < 0) left = 0;
        *rest = (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = (long)(left % 1000000000)};
    }
    return error;
}

int nanosleep(const struct timespec *request, struct timespec *rest) {
    int error = clock_nanosleep(CLOCK_MONOTONIC, 0, request, rest);
    return error == 0 ? 0 : (errno = error, -1);
}
