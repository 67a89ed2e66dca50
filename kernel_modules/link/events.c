// SPDX-License-Identifier: GPL-2.0
/*
 * Events of all links and delays, in order of time.
 *
 * One event of the virtual clock represents the first of them. While nothing else is due
 * before the next event, the clock is advanced to it here (see um/clock.h).
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/sched.h>

#include "path.h"

static bool advance = true;
module_param(advance, bool, 0444);
MODULE_PARM_DESC(advance, "advance the clock between events; results are the same without, but slower");

static struct timerqueue_head pending;
static struct tasklet_struct tasklet;
static bool running;
static u64 running_now_ns;

u64 path_now_ns(void)
{
	return running ? running_now_ns : ktime_get_ns();
}

static void clock_interrupt(void)
{
	tasklet_schedule(&tasklet);
}

void path_event_set(struct path_event *event, u64 time_ns)
{
	bool first;

	event->node.expires = time_ns;
	first = timerqueue_add(&pending, &event->node);
	if (first && !running)
		ccbench_clock_call(clock_interrupt, time_ns - ktime_get_ns());
}

void path_event_cancel(struct path_event *event)
{
	if (!RB_EMPTY_NODE(&event->node.node))
		timerqueue_del(&pending, &event->node);
}

/*
 * Returns true if the guest has nothing to do, which is required before time may advance:
 * softirqs raised by packets and threads woken by them come first.
 */
static bool guest_idle(void)
{
	return is_idle_task(current) && !need_resched() && !local_softirq_pending();
}

static void run_events(struct tasklet_struct *unused)
{
	struct timerqueue_node *next;

	running_now_ns = ktime_get_ns();
	running = true;
	while ((next = timerqueue_getnext(&pending))) {
		struct path_event *event = container_of(next, struct path_event, node);

		if (next->expires > running_now_ns) {
			if (!advance || !guest_idle() ||
			    !ccbench_clock_advance(next->expires - running_now_ns))
				break;
			running_now_ns = next->expires;
		}
		timerqueue_del(&pending, next);
		event->fn(event);
	}
	running = false;
	if (next)
		ccbench_clock_call(clock_interrupt, next->expires - running_now_ns);
}

void path_events_init(void)
{
	timerqueue_init_head(&pending);
	tasklet_setup(&tasklet, run_events);
}
