/* wasi-libc's <unistd.h> and what it leaves out: processes, groups, users, duplicated descriptors. */
#ifndef SANDBAR_UNISTD_H
#define SANDBAR_UNISTD_H

#ifndef _WASI_EMULATED_GETPID
#define _WASI_EMULATED_GETPID
#endif
#include_next <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

int pipe(int[2]);
int pipe2(int[2], int);
int dup(int);
int dup2(int, int);
int dup3(int, int, int);

int chown(const char *, uid_t, gid_t);
int fchown(int, uid_t, gid_t);
int lchown(const char *, uid_t, gid_t);
int fchownat(int, const char *, uid_t, gid_t, int);
int fchdir(int);
int eaccess(const char *, int);
int euidaccess(const char *, int);

unsigned alarm(unsigned);
int pause(void);

int execve(const char *, char *const[], char *const[]);
int execv(const char *, char *const[]);
int execvp(const char *, char *const[]);
int execvpe(const char *, char *const[], char *const[]);
int execl(const char *, const char *, ...);
int execle(const char *, const char *, ...);
int execlp(const char *, const char *, ...);

pid_t getppid(void);
pid_t getpgrp(void);
pid_t getpgid(pid_t);
pid_t getsid(pid_t);
int setpgid(pid_t, pid_t);
int setpgrp(void);
pid_t setsid(void);
pid_t tcgetpgrp(int);
int tcsetpgrp(int, pid_t);

char *ttyname(int);
int ttyname_r(int, char *, size_t);

uid_t getuid(void);
uid_t geteuid(void);
gid_t getgid(void);
gid_t getegid(void);
int getgroups(int, gid_t[]);
int setuid(uid_t);
int seteuid(uid_t);
int setgid(gid_t);
int setegid(gid_t);

int lockf(int, int, off_t);
int getdtablesize(void);
void sync(void);
int nice(int);

#ifdef __cplusplus
}
#endif
#endif
