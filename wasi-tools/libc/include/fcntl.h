/* wasi-libc's <fcntl.h> with close-on-exec, duplication and record locks, which it has no use for. */
#ifndef SANDBAR_FCNTL_H
#define SANDBAR_FCNTL_H

#include_next <fcntl.h>

#include <sys/types.h>

#undef O_CLOEXEC
#define O_CLOEXEC 02000000 /* the kernel's bit: free among wasi-libc's */

#define F_DUPFD 0
#define F_GETLK 5
#define F_SETLK 6
#define F_SETLKW 7
#define F_DUPFD_CLOEXEC 1030

#define F_RDLCK 0
#define F_WRLCK 1
#define F_UNLCK 2

#endif
