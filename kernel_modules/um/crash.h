/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guard below the stack of the idle task, on which packets are handled.
 *
 * Without it, infinite recursion overwrites the kernel's data, most of which printing
 * requires, and the guest hangs silently.
 *
 * arch/um/kernel/trap.c includes this file.
 */
#ifndef _CCBENCH_CRASH_H
#define _CCBENCH_CRASH_H

#include <linux/init.h>
#include <linux/sched.h>
#include <os.h>

/* Start of the unused memory before the aligned stack (uml.lds.S). */
extern char ccbench_stack_guard[];

static int __init ccbench_guard_stack(void)
{
	unsigned long bytes = (char *)&init_thread_union - ccbench_stack_guard;

	return os_protect_memory(ccbench_stack_guard, bytes, 0, 0, 0);
}
core_initcall(ccbench_guard_stack);

static bool ccbench_is_stack_guard(unsigned long address)
{
	return address >= (unsigned long)ccbench_stack_guard &&
	       address < (unsigned long)&init_thread_union;
}

#endif /* _CCBENCH_CRASH_H */
