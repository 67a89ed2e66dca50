/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The virtual clock.
 *
 * Nearly every event of a run is the end of a transmission or the arrival of a packet.
 * Through kernel timers, each would cost an interrupt, a softirq and an iteration of the
 * idle loop, about a third of the whole run. The module that emulates the path therefore
 * has its own event, next to that of the kernel's timers, and may advance to its next time
 * by itself if nothing else is due before.
 *
 * arch/um/kernel/time.c includes this file, which uses private parts of it.
 */
#ifndef _CCBENCH_CLOCK_H
#define _CCBENCH_CLOCK_H

#include <linux/hardirq.h>
#include <asm/irq_regs.h>

/*
 * A timer interrupt without the general interrupt handling, which mixes the time of each
 * interrupt into the kernel's entropy, so that a timer that only observes, such as that of
 * the samples, would change random numbers.
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

/* Calls fn in interrupt context in delay_ns; replaces an earlier request. */
void ccbench_clock_call(void (*fn)(void), u64 delay_ns);
void ccbench_clock_call(void (*fn)(void), u64 delay_ns)
{
	ccbench_clock_fn = fn;
	time_travel_del_event(&ccbench_clock_event);
	time_travel_add_event(&ccbench_clock_event, time_travel_time + delay_ns);
}
EXPORT_SYMBOL_GPL(ccbench_clock_call);

/*
 * Advances the clock, unless something is due before. The caller must ensure that nothing
 * is runnable, neither in process context nor as a softirq.
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
