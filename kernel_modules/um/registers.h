/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Preservation of the registers of a program over a page fault.
 *
 * The program is a process of the host. Its vector registers remain there while it does not
 * run, but not across a signal, as at a page fault: the host's kernel clears them for the
 * signal handler, from which User-Mode Linux never returns. User-Mode Linux only restores the
 * registers that its own structures contain. Programs copy memory with the widest registers
 * and touch pages that are not present yet.
 *
 * This is part of the userspace side of User-Mode Linux.
 */
#ifndef _CCBENCH_REGISTERS_H
#define _CCBENCH_REGISTERS_H

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <registers.h>

#define CCBENCH_NT_X86_XSTATE	0x202

/* Processors with matrix registers need 11 KB. Only one process faults at a time. */
static char ccbench_vectors[65536];
static struct iovec ccbench_vectors_saved;

/* Hosts without this register set need no preservation of it. */
static inline int ccbench_save_registers(pid_t pid, unsigned long *fp_regs)
{
	ccbench_vectors_saved.iov_base = ccbench_vectors;
	ccbench_vectors_saved.iov_len = sizeof(ccbench_vectors);
	if (!ptrace(PTRACE_GETREGSET, pid, CCBENCH_NT_X86_XSTATE, &ccbench_vectors_saved))
		return 0;
	ccbench_vectors_saved.iov_len = 0;
	return get_fp_registers(pid, fp_regs);
}

static inline int ccbench_restore_registers(pid_t pid, unsigned long *fp_regs)
{
	if (!ccbench_vectors_saved.iov_len)
		return put_fp_registers(pid, fp_regs);
	return ptrace(PTRACE_SETREGSET, pid, CCBENCH_NT_X86_XSTATE, &ccbench_vectors_saved);
}

#endif /* _CCBENCH_REGISTERS_H */
