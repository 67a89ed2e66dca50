/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The time that programs take which never sleep.
 *
 * Computing takes no time, so that a program which calls the kernel until some time has passed,
 * or until another program has done something, would wait forever. Calls that fail take time
 * anyway. After many other calls without a moment in which all programs sleep, each one takes
 * time, too, and lets others run.
 *
 * arch/um/kernel/skas/syscall.c includes this file.
 */
#ifndef _CCBENCH_POLLING_H
#define _CCBENCH_POLLING_H

#include <linux/irqflags.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <asm/delay.h>

#include "ccbench_vdso.h"

/* Calls that take no time, and the time of each of the next ones. */
#define CCBENCH_FREE_CALLS	1000
#define CCBENCH_CALL_US		10

/* Calls of programs since the last moment in which all slept. */
static unsigned int ccbench_calls;

/* The clock that programs read without a call (vma.c). */
struct ccbench_clock *ccbench_page_clock;

/* All programs sleep (kernel/time.c). */
void ccbench_all_sleep(void);
void ccbench_all_sleep(void)
{
	ccbench_calls = 0;
	if (ccbench_page_clock)
		ccbench_page_clock->reads = 0;
}

/* A program continues (os-Linux/skas/process.c). */
void ccbench_publish_time(void);
void ccbench_publish_time(void)
{
	unsigned long flags;

	/* With interrupts, reading the clock would take time. */
	local_irq_save(flags);
	ccbench_page_clock->monotonic_ns = ktime_get_ns();
	ccbench_page_clock->real_ns = ktime_get_real_ns();
	local_irq_restore(flags);
}

/* After a call of a program that has not failed. The init's plan takes no time. */
static void ccbench_called(void)
{
	if (is_global_init(current) || ++ccbench_calls <= CCBENCH_FREE_CALLS)
		return;
	um_udelay(CCBENCH_CALL_US);
	schedule();
}

#endif /* _CCBENCH_POLLING_H */
