/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the virtual kernel's processes do first, as processes of their host.
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
 * What the host stops and continues processes with. One that the kernel's process
 * traces goes on at once: to stop a guest is to stop the kernel's process.
 */
#define CCBENCH_JOB_CONTROL						\
	((1 << SIGSTOP) | (1 << SIGTSTP) | (1 << SIGTTIN) |		\
	 (1 << SIGTTOU) | (1 << SIGCONT))
#define CCBENCH_JOB_CONTROL_CASES					\
	case SIGSTOP: case SIGTSTP: case SIGTTIN: case SIGTTOU: case SIGCONT

/* The kernel's own process; one variable, however many files include this. */
pid_t ccbench_kernel_process __attribute__((weak));

/* However `parent` ends, this process ends with it. */
static inline void ccbench_end_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* It may have ended before that was said. */
	if (getppid() != parent)
		_exit(1);
}

/* At the start of the kernel's process. */
static inline void ccbench_prepare_process(void)
{
	const char *parent = getenv("CCBENCH_PARENT");

	/* The guest's memory begins where a heap would be: the C library makes none. */
	mallopt(M_MMAP_THRESHOLD, 0);
	ccbench_kernel_process = getpid();
	if (parent)
		ccbench_end_with(atoi(parent));
}

/* At the start of a process that the kernel's process traces. */
static inline long ccbench_trace_me(void)
{
	ccbench_end_with(ccbench_kernel_process);
	return ptrace(PTRACE_TRACEME, 0, 0, 0);
}

#endif /* _CCBENCH_PROCESS_H */
