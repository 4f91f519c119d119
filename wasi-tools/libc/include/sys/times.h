/* wasi-libc's <sys/times.h>; the times are the kernel's, not an emulation. */
#ifndef SANDBAR_SYS_TIMES_H
#define SANDBAR_SYS_TIMES_H

#ifndef _WASI_EMULATED_PROCESS_CLOCKS
#define _WASI_EMULATED_PROCESS_CLOCKS
#endif
#include_next <sys/times.h>

#endif
