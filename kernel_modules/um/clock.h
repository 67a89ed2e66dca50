/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual clock.
 *
 * Nearly every event of a run is a packet leaving a link or arriving after its
 * delay. Through a kernel timer each would cost an interrupt, a softirq and a
 * turn of the idle loop, about a third of the whole run. Instead the module that
 * emulates the path has an event of its own, next to the one that stands for the
 * kernel's timers, and may go on to its next time by itself where nothing else
 * is due before.
 *
 * This is included by arch/um/kernel/time.c, of which it uses private parts.
 */
#ifndef _CCBENCH_CLOCK_H
#define _CCBENCH_CLOCK_H

#include <linux/hardirq.h>
#include <asm/irq_regs.h>

/*
 * A timer interrupt, past the general handling of interrupts: that stirs the
 * time of each into the kernel's random numbers, so that a timer that only
 * observes, as that of the samples, would lead to other draws.
 */
static void ccbench_timer_interrupt(struct uml_pt_regs *regs)
{
	struct pt_regs *old_regs = set_irq_regs((struct pt_regs *)regs);

	irq_enter();
	um_timer(TIMER_IRQ, NULL);
	irq_exit();
	set_irq_regs(old_regs);
}

static void (*ccbench_clock_fn)(void);

static void ccbench_clock_event_fn(struct time_travel_event *event)
{
	ccbench_clock_fn();
}

static struct time_travel_event ccbench_clock_event = {
	.fn = ccbench_clock_event_fn,
};

/* Calls fn in interrupt context delay_ns from now; an earlier request is void. */
void ccbench_clock_call(void (*fn)(void), u64 delay_ns);
void ccbench_clock_call(void (*fn)(void), u64 delay_ns)
{
	ccbench_clock_fn = fn;
	time_travel_del_event(&ccbench_clock_event);
	time_travel_add_event(&ccbench_clock_event, time_travel_time + delay_ns);
}
EXPORT_SYMBOL_GPL(ccbench_clock_call);

/*
 * Moves the clock on, unless something is due until then. The caller has to see
 * to it that nothing is runnable now, in process context or as a softirq.
 */
bool ccbench_clock_advance(u64 delay_ns);
bool ccbench_clock_advance(u64 delay_ns)
{
	struct time_travel_event *next = time_travel_first_event();

	if (next && next->time <= time_travel_time + delay_ns)
		return false;
	time_travel_set_time(time_travel_time + delay_ns);
	return true;
}
EXPORT_SYMBOL_GPL(ccbench_clock_advance);

#endif /* _CCBENCH_CLOCK_H */
