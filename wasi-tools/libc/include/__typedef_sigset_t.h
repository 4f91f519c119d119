/* A set of signals as the kernel has it: bit n-1 is signal n (1–31). wasi-libc's placeholder has eight bits. */
#ifndef __wasilibc___typedef_sigset_t_h
#define __wasilibc___typedef_sigset_t_h

typedef unsigned sigset_t;

#endif
