/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The registers of a program of the guest, over a page fault.
 *
 * The program is a process of the host. Its vector registers stay there between
 * its turns, but not when it is sent a signal, as it is at a page fault: the
 * host's kernel clears them for the signal's handler, to which User-Mode Linux
 * never lets it return. User-Mode Linux itself restores what its own structures
 * have room for. Programs copy memory with the widest registers that there are,
 * and meet pages that are not there yet.
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

/* Processors with matrix registers need 11 KB. One process faults at a time. */
static char ccbench_vectors[65536];
static struct iovec ccbench_vectors_saved;

/* Hosts without such a set of registers have none that need it. */
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
