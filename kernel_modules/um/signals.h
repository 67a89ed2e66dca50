/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interrupt mask, which is a variable of User-Mode Linux.
 *
 * Linux masks interrupts many times per packet: in the memory allocator, timers,
 * and counters of a processor. Only the signals and events that came meanwhile need a
 * function.
 *
 * arch/um/include/asm/irqflags.h includes this file.
 */
#ifndef _CCBENCH_SIGNALS_H
#define _CCBENCH_SIGNALS_H

#include <linux/compiler.h>
#include <linux/types.h>

extern int signals_enabled;
/* Signals of the host, and events of the virtual clock, that came while masked. */
extern unsigned int signals_pending;
extern struct list_head time_travel_irqs;

static inline void ccbench_mask_signals(void)
{
	signals_enabled = 0;
	barrier();
}

static inline void ccbench_unmask_signals(void)
{
	barrier();
	if (signals_enabled)
		return;
	signals_enabled = 1;
	/* Signals before this are pending, later ones are handled at once. */
	barrier();
	if (unlikely(signals_pending || time_travel_irqs.next != &time_travel_irqs)) {
		signals_enabled = 0;
		unblock_signals();
	}
}

static inline void ccbench_restore_signals(unsigned long flags)
{
	if (flags)
		ccbench_unmask_signals();
	else
		ccbench_mask_signals();
}

#endif /* _CCBENCH_SIGNALS_H */
