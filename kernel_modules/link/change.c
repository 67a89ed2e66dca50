// SPDX-License-Identifier: GPL-2.0
/*
 * Changes of the path at given times, or after triggers: of a link, its losses and its queue,
 * of the delay, or of a receiver's window. Changes of applications are done by the module of
 * the flows.
 */
#include <linux/bottom_half.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/slab.h>
#include <linux/workqueue.h>
#include <net/sch_generic.h>

#include "link.h"

struct change {
	const struct ccbench_change *spec;
	struct nlattr *options;		/* of the qdisc */
	struct bottleneck *link;
	struct work_struct work;
	u64 time_ns;			/* of its next occurrence; U64_MAX: none */
};

static struct change *changes;
static u32 change_count;
static struct path_event next_change;
static struct ccbench_log *trigger_log;	/* NULL: no change has a trigger */
static bool (*set_app_rate)(u32 flow, u64 rate_bps);

void ccbench_set_applications(bool (*set_rate)(u32 flow, u64 rate_bps))
{
	set_app_rate = set_rate;
}
EXPORT_SYMBOL_GPL(ccbench_set_applications);

/* Qdiscs change in process context. */
static void change_queue(struct work_struct *work)
{
	struct change *change = container_of(work, struct change, work);
	struct Qdisc *q;
	int err = -EOPNOTSUPP;

	rtnl_lock();
	WRITE_ONCE(change->link->changing, true);
	q = rtnl_dereference(netdev_get_tx_queue(change->link->dev, 0)->qdisc);
	if (q->ops->change)
		err = q->ops->change(q, change->options, NULL);
	/* This frees what it has dropped. */
	rtnl_unlock();
	WRITE_ONCE(change->link->changing, false);
	/* A run without the change must not look like a result. */
	if (err)
		panic("ccbench: the qdisc %s cannot be changed: error %d\n", q->ops->id, err);
}

static bool has_trigger(const struct ccbench_change *spec)
{
	return spec->trigger.kind != CCBENCH_TRIGGER_NONE;
}

static void record(const struct change *change)
{
	struct ccbench_change_record *r = ccbench_log_append(trigger_log, sizeof(*r));

	*r = (struct ccbench_change_record) {
		.time_ns = ccbench_now_ns(),
		.change = change - changes,
	};
}

static void change_application(const struct ccbench_change *spec)
{
	/* As above. */
	if (!set_app_rate || !set_app_rate(spec->end_flow, spec->app_rate_bps))
		panic("ccbench: flow %llu has no application that can be changed\n",
		      spec->end_flow);
}

static void change_window(const struct ccbench_change *spec)
{
	/* As above. */
	if (!receiver_set_window(spec->end_flow, spec->window_bytes))
		panic("ccbench: flow %llu has no window that can be changed\n", spec->end_flow);
}

static void apply(struct change *change)
{
	const struct ccbench_change *spec = change->spec;

	if (has_trigger(spec))
		record(change);
	if (spec->rate_bps)
		bottleneck_set_rate(change->link, spec->rate_bps);
	if (spec->outage_ns)
		bottleneck_stop(change->link, spec->outage_ns);
	if (spec->loss != CCBENCH_UNCHANGED)
		loss_set(change->link->losses, spec->loss);
	if (spec->rtt_ns != CCBENCH_UNCHANGED || spec->forward_delay_ns != CCBENCH_UNCHANGED)
		delay_set(spec->rtt_ns, spec->forward_delay_ns, spec->overtakes);
	if (spec->wifi_jitter_ns != CCBENCH_UNCHANGED)
		wifi_jitter_set(spec->wifi_jitter_ns);
	if (spec->app_rate_bps != CCBENCH_UNCHANGED)
		change_application(spec);
	if (spec->window_bytes != CCBENCH_UNCHANGED)
		change_window(spec);
	if (change->options)
		schedule_work(&change->work);
}

static void wait_for_next(void)
{
	u64 next_ns = U64_MAX;
	u32 i;

	for (i = 0; i < change_count; i++)
		next_ns = min(next_ns, changes[i].time_ns);
	if (next_ns != U64_MAX)
		path_event_set(&next_change, next_ns);
}

/* Applies the changes that are due, in their order. */
static void apply_due(struct path_event *event)
{
	u64 now_ns = path_now_ns();
	u32 i;

	for (i = 0; i < change_count; i++) {
		const u64 every_ns = changes[i].spec->every_ns;

		if (changes[i].time_ns > now_ns)
			continue;
		apply(&changes[i]);
		changes[i].time_ns = every_ns ? changes[i].time_ns + every_ns : U64_MAX;
	}
	wait_for_next();
}

static void trigger_occurred(u32 index)
{
	changes[index].time_ns = path_now_ns() + changes[index].spec->time_ns;
	path_event_cancel(&next_change);
	apply_due(&next_change);
}

/* Prepares a change for what it sets. */
static int change_enable(const struct ccbench_link_header *header, u32 index)
{
	const struct ccbench_change *spec = changes[index].spec;
	int err = 0;

	if (spec->loss != CCBENCH_UNCHANGED)
		err = loss_enable(changes[index].link, header);
	if (!err && spec->wifi_jitter_ns != CCBENCH_UNCHANGED)
		err = wifi_jitter_enable(header);
	if (err || !has_trigger(spec))
		return err;
	if (!trigger_log)
		trigger_log = ccbench_log_open("changes.bin", PAGE_SIZE);
	return PTR_ERR_OR_ZERO(trigger_log) ?:
	       trigger_add(header, &spec->trigger, index, trigger_occurred);
}

int change_create(const struct ccbench_link_header *header, const struct ccbench_change *specs,
		  const void *options, const void *end, struct bottleneck *links)
{
	u32 i;
	int err;

	change_count = header->changes;
	changes = kvcalloc(max(change_count, 1U), sizeof(*changes), GFP_KERNEL);
	if (!changes)
		return -ENOMEM;
	for (i = 0; i < change_count; i++) {
		struct change *change = &changes[i];

		if (specs[i].bottleneck >= header->bottlenecks ||
		    specs[i].options_bytes > end - options ||
		    specs[i].end_flow >= max(header->flows, 1U))
			return -EINVAL;
		change->spec = &specs[i];
		change->link = &links[specs[i].bottleneck];
		if (specs[i].options_bytes)
			change->options = (struct nlattr *)options;
		options += specs[i].options_bytes;
		INIT_WORK(&change->work, change_queue);
		err = change_enable(header, i);
		if (err)
			return err;
	}
	return 0;
}

void change_start(u64 epoch_ns)
{
	u32 i;

	for (i = 0; i < change_count; i++)
		changes[i].time_ns = has_trigger(changes[i].spec) ?
			U64_MAX : epoch_ns + changes[i].spec->time_ns;
	path_event_init(&next_change, apply_due);
	local_bh_disable();
	wait_for_next();
	local_bh_enable();
}
