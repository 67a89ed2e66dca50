/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A guard below the stack on which packets are handled, that of the idle task.
 *
 * Without it, a recursion without end writes over the kernel's data, of which
 * printing needs most, and the guest hangs without a word.
 *
 * This is included by arch/um/kernel/trap.c.
 */
#ifndef _CCBENCH_CRASH_H
#define _CCBENCH_CRASH_H

#include <linux/init.h>
#include <linux/sched.h>
#include <os.h>

/* From here to the stack, which is aligned, there is nothing (dyn.lds.S). */
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
