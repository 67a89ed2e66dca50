/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Initialisation of the virtual kernel's processes on the host.
 *
 * This is part of the userspace side of User-Mode Linux.
 */
#ifndef _CCBENCH_PROCESS_H
#define _CCBENCH_PROCESS_H

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <unistd.h>

/*
 * Signals by which the host stops and continues processes. A traced process continues
 * immediately; stopping the kernel's process stops the guest.
 */
#define CCBENCH_JOB_CONTROL						\
	((1 << SIGSTOP) | (1 << SIGTSTP) | (1 << SIGTTIN) |		\
	 (1 << SIGTTOU) | (1 << SIGCONT))
#define CCBENCH_JOB_CONTROL_CASES					\
	case SIGSTOP: case SIGTSTP: case SIGTTIN: case SIGTTOU: case SIGCONT

/* The kernel's own process; weak, so that all files share one variable. */
pid_t ccbench_kernel_process __attribute__((weak));

/* Ends this process together with `parent`. */
static inline void ccbench_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* The parent may have ended before. */
	if (getppid() != parent)
		_exit(1);
}

/* Called at the start of the kernel's process. */
static inline void ccbench_prepare_process(void)
{
	const char *parent = getenv("CCBENCH_PARENT");

	/* The guest's memory starts at the heap's address, so the C library must not use one. */
	mallopt(M_MMAP_THRESHOLD, 0);
	ccbench_kernel_process = getpid();
	if (parent)
		ccbench_end_with(atoi(parent));
}

/* Called at the start of a process that runs a program of the guest. */
static inline void ccbench_prepare_program(void)
{
	ccbench_end_with(ccbench_kernel_process);
	/* The guest's kernel reads the counter for it (um/tsc.h). */
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
}

/* The same for one that the kernel's process traces. */
static inline long ccbench_trace_me(void)
{
	ccbench_prepare_program();
	return ptrace(PTRACE_TRACEME, 0, 0, 0);
}

#endif /* _CCBENCH_PROCESS_H */
