/* <sys/wait.h>, with Linux's encoding of a status. */
#ifndef SANDBAR_SYS_WAIT_H
#define SANDBAR_SYS_WAIT_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WNOHANG    1
#define WUNTRACED  2
#define WCONTINUED 8

#define WEXITSTATUS(status)  (((status) >> 8) & 0xff)
#define WTERMSIG(status)     ((status) & 0x7f)
#define WSTOPSIG(status)     WEXITSTATUS(status)
#define WIFEXITED(status)    (WTERMSIG(status) == 0)
#define WIFSIGNALED(status)  (WTERMSIG(status) != 0 && WTERMSIG(status) != 0x7f)
#define WIFSTOPPED(status)   (((status) & 0xff) == 0x7f)
#define WIFCONTINUED(status) ((status) == 0xffff)
#define WCOREDUMP(status)    0

struct rusage;

pid_t wait(int *);
pid_t waitpid(pid_t, int *, int);
pid_t wait3(int *, int, struct rusage *);
pid_t wait4(pid_t, int *, int, struct rusage *);

#ifdef __cplusplus
}
#endif
#endif
