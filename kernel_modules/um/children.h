/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processes that run the guest's programs, in seccomp mode.
 *
 * They are not traced, so the host reports their stops and ends by SIGCHLD only. Linux treats
 * this signal as an interrupt of the guest, which adds to the guest's entropy and may run
 * softirqs: runs would differ from those in ptrace mode, which has no such interrupt, and
 * from each other, as the host chooses the time. Here, the signal has no effect on the guest
 * unless a process ended that a program needs.
 *
 * The signal is handled at once, even while the guest's interrupts are off, because the
 * kernel may be waiting for that process. This is safe: the list of processes is only read,
 * and is consistent between any two instructions of its writers.
 *
 * arch/um/kernel/skas/mmu.c and signal.c, process.c and start_up.c in arch/um/os-Linux
 * include this file.
 */
#ifndef _CCBENCH_CHILDREN_H
#define _CCBENCH_CHILDREN_H

/* Continues stopped processes, and marks programs whose process has ended; in mmu.c. */
void ccbench_check_children(void);

#ifdef __UM_HOST__

#include <signal.h>
#include <sys/ucontext.h>
#include <sys/wait.h>

static inline void ccbench_child_handler(int sig, struct siginfo *si, mcontext_t *mc)
{
	ccbench_check_children();
}

/*
 * Sets the stack of this process's signal handlers; fails if it may be too small for the
 * registers of the host's processor. Linux would panic instead of using ptrace.
 */
static inline int ccbench_set_handler_stack(void *stack, size_t bytes)
{
	stack_t handlers = { .ss_sp = stack, .ss_size = bytes };

	return sigaltstack(&handlers, NULL);
}

/*
 * Returns a process that has ended, or 0 or -1. Stopped ones continue, like traced ones
 * (ccbench_process.h): stopping the kernel's process stops the guest.
 */
static inline pid_t ccbench_reap_child(void)
{
	int status;
	pid_t pid;

	do {
		pid = waitpid(-1, &status, WNOHANG | WUNTRACED);
	} while (pid > 0 && WIFSTOPPED(status) && !kill(pid, SIGCONT));
	return pid;
}

#endif /* __UM_HOST__ */

#endif /* _CCBENCH_CHILDREN_H */
