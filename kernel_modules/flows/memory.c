// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that a user's modules free, and timers that they start, by the functions here
 * (include/own_calls.h). What they free is filled with a pattern, and waits in a list before
 * Linux may use it again, so that a second kfree() and a later write are seen. It must not
 * contain a running timer.
 *
 * With the parameter fill, memory that they have not set, or have freed, has other contents than
 * without. A run that differs depends on it.
 */
#include <linux/export.h>
#include <linux/hash.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/panic.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <net/pkt_sched.h>

#include "flows.h"

#define WAITING		64
/* Larger objects do not wait. */
#define LARGEST_BYTES	8192
#define PATTERN		(fill ?: 0x6b)

static u8 fill;
module_param(fill, byte, 0);
MODULE_PARM_DESC(fill, "byte in memory that a user's modules have not set, or have freed (0: none)");

bool memory_is_filled(void)
{
	return fill;
}

void memory_fill(void *area, size_t bytes)
{
	if (fill)
		memset(area, fill, bytes);
}

static struct freed {
	void *object;	/* NULL: none */
	size_t bytes;
	void *caller;	/* of kfree() */
} freed[WAITING];
static u32 next_freed;

static void check_freed(const struct freed *entry)
{
	const void *changed = entry->object ? memchr_inv(entry->object, PATTERN, entry->bytes) : NULL;

	if (unlikely(changed))
		panic("ccbench: memory: byte %zu of what %pS has freed is written afterwards\n",
		      changed - entry->object, entry->caller);
}

/* ---- timers ----------------------------------------------------------- */

#define TIMERS_BITS	8

/* The last timers that were started, by hashes of their addresses. */
static struct started {
	void *timer;	/* NULL: none */
	bool is_hrtimer;
} started[1 << TIMERS_BITS];

static void note(void *timer, bool is_hrtimer, u64 end_ns)
{
	started[hash_ptr(timer, TIMERS_BITS)] = (struct started) { timer, is_hrtimer };
	ccbench_timers_end_ns = max(ccbench_timers_end_ns, end_ns);
}

/* Latest end of a timer that counts ticks. */
static u64 end_after(unsigned long ticks)
{
	return ktime_get_ns() + jiffies_to_nsecs(ticks + 1);
}

static u64 end_at(unsigned long expires)
{
	return end_after(time_after(expires, jiffies) ? expires - jiffies : 0);
}

static bool is_running(const struct started *entry)
{
	return entry->is_hrtimer ? hrtimer_is_queued(entry->timer) : timer_pending(entry->timer);
}

bool memory_ends(const void *area, size_t bytes)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(started); i++) {
		const struct started entry = started[i];

		if (entry.timer < area || entry.timer >= area + bytes)
			continue;
		started[i].timer = NULL;
		if (is_running(&entry))
			return false;
	}
	return true;
}

/* A timer of a connection is in memory; one in the module itself may run until it is unloaded. */
static void check_ended(const struct started *entry)
{
	if (!entry->timer || !virt_addr_valid(entry->timer) || !is_running(entry))
		return;
	panic("ccbench: memory: a timer of %ps is running after all connections have ended\n",
	      entry->is_hrtimer ?
	      (void *)((struct hrtimer *)entry->timer)->function :
	      (void *)((struct timer_list *)entry->timer)->function);
}

/* ---- calls of a user's modules ---------------------------------------- */

int ccbench_mod_timer(struct timer_list *timer, unsigned long expires);
void ccbench_add_timer(struct timer_list *timer);
void ccbench_hrtimer_start(struct hrtimer *timer, ktime_t time, u64 range_ns,
			   const enum hrtimer_mode mode);
void ccbench_watchdog_schedule(struct qdisc_watchdog *watchdog, u64 expires, u64 delta_ns);
bool ccbench_queue_delayed_work(int cpu, struct workqueue_struct *queue,
				struct delayed_work *work, unsigned long delay);
bool ccbench_mod_delayed_work(int cpu, struct workqueue_struct *queue,
			      struct delayed_work *work, unsigned long delay);
int ccbench_register_qdisc(struct Qdisc_ops *ops);
void ccbench_kfree(const void *object);

int ccbench_mod_timer(struct timer_list *timer, unsigned long expires)
{
	note(timer, false, end_at(expires));
	return mod_timer(timer, expires);
}
EXPORT_SYMBOL(ccbench_mod_timer);

void ccbench_add_timer(struct timer_list *timer)
{
	note(timer, false, end_at(timer->expires));
	add_timer(timer);
}
EXPORT_SYMBOL(ccbench_add_timer);

void ccbench_hrtimer_start(struct hrtimer *timer, ktime_t time, u64 range_ns,
			   const enum hrtimer_mode mode)
{
	note(timer, true, (mode & HRTIMER_MODE_REL ? ktime_get_ns() : 0) + time + range_ns);
	hrtimer_start_range_ns(timer, time, range_ns, mode);
}
EXPORT_SYMBOL(ccbench_hrtimer_start);

void ccbench_watchdog_schedule(struct qdisc_watchdog *watchdog, u64 expires, u64 delta_ns)
{
	note(&watchdog->timer, true, expires + delta_ns);
	qdisc_watchdog_schedule_range_ns(watchdog, expires, delta_ns);
}
EXPORT_SYMBOL(ccbench_watchdog_schedule);

bool ccbench_queue_delayed_work(int cpu, struct workqueue_struct *queue,
				struct delayed_work *work, unsigned long delay)
{
	note(&work->timer, false, end_after(delay));
	return queue_delayed_work_on(cpu, queue, work, delay);
}
EXPORT_SYMBOL(ccbench_queue_delayed_work);

bool ccbench_mod_delayed_work(int cpu, struct workqueue_struct *queue,
			      struct delayed_work *work, unsigned long delay)
{
	note(&work->timer, false, end_after(delay));
	return mod_delayed_work_on(cpu, queue, work, delay);
}
EXPORT_SYMBOL(ccbench_mod_delayed_work);

/* Qdiscs whose memory Linux frees after .destroy, and their own .destroy. */
#define MAX_QDISCS	16

static struct destroyed {
	struct Qdisc_ops *ops;
	void (*destroy)(struct Qdisc *q);
} destroyed[MAX_QDISCS];
static u32 destroyed_count;

static void checked_destroy(struct Qdisc *q)
{
	u32 i = 0;

	while (destroyed[i].ops != q->ops)
		i++;
	if (destroyed[i].destroy)
		destroyed[i].destroy(q);
	if (unlikely(!memory_ends(qdisc_priv(q), q->ops->priv_size)))
		panic("ccbench: memory: the destroy of the qdisc %s leaves a timer running\n",
		      q->ops->id);
}

int ccbench_register_qdisc(struct Qdisc_ops *ops)
{
	if (destroyed_count < MAX_QDISCS) {
		destroyed[destroyed_count++] = (struct destroyed) { ops, ops->destroy };
		ops->destroy = checked_destroy;
	}
	return register_qdisc(ops);
}
EXPORT_SYMBOL(ccbench_register_qdisc);

void ccbench_kfree(const void *object)
{
	struct freed entry = { (void *)object, 0, __builtin_return_address(0) }, oldest;
	unsigned long flags;
	u32 i;

	/* Linux's kfree() reports a bad pointer. */
	if (!ZERO_OR_NULL_PTR(object) && virt_addr_valid(object))
		entry.bytes = ksize(object);
	if (!entry.bytes || entry.bytes > LARGEST_BYTES) {
		kfree(object);
		return;
	}
	if (unlikely(!memory_ends(object, entry.bytes)))
		panic("ccbench: memory: %pS frees a timer that is still running\n", entry.caller);
	local_irq_save(flags);
	for (i = 0; i < WAITING; i++)
		if (unlikely(freed[i].object == object))
			panic("ccbench: memory: %pS frees what %pS has freed\n", entry.caller,
			      freed[i].caller);
	memset(entry.object, PATTERN, entry.bytes);
	oldest = freed[next_freed];
	freed[next_freed] = entry;
	next_freed = (next_freed + 1) % WAITING;
	local_irq_restore(flags);
	check_freed(&oldest);
	kfree(oldest.object);
}
EXPORT_SYMBOL(ccbench_kfree);

void memory_check(bool all_ended)
{
	u32 i;

	for (i = 0; i < WAITING; i++) {
		const struct freed entry = freed[i];

		check_freed(&entry);
		freed[i].object = NULL;
		kfree(entry.object);
	}
	/* The timers of qdiscs end later. */
	for (i = 0; all_ended && !destroyed_count && i < ARRAY_SIZE(started); i++)
		check_ended(&started[i]);
}
