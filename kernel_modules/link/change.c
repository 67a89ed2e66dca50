// SPDX-License-Identifier: GPL-2.0
/* Changes of the path at given times: of a link, its losses and its queue, or of the delay. */
#include <linux/bottom_half.h>
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

/* Qdiscs change in process context. */
static void change_queue(struct work_struct *work)
{
	struct change *change = container_of(work, struct change, work);
	struct Qdisc *q;
	int err = -EOPNOTSUPP;

	rtnl_lock();
	q = rtnl_dereference(netdev_get_tx_queue(change->link->dev, 0)->qdisc);
	if (q->ops->change)
		err = q->ops->change(q, change->options, NULL);
	rtnl_unlock();
	/* A run without the change must not look like a result. */
	if (err)
		panic("ccbench: the qdisc %s cannot be changed: error %d\n", q->ops->id, err);
}

static void apply(struct change *change)
{
	const struct ccbench_change *spec = change->spec;

	if (spec->rate_bps)
		bottleneck_set_rate(change->link, spec->rate_bps);
	if (spec->outage_ns)
		bottleneck_stop(change->link, spec->outage_ns);
	if (spec->loss != CCBENCH_UNCHANGED)
		loss_set(change->link->losses, spec->loss);
	if (spec->rtt_ns != CCBENCH_UNCHANGED || spec->forward_delay_ns != CCBENCH_UNCHANGED)
		delay_set(spec->rtt_ns, spec->forward_delay_ns, spec->overtakes);
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
		    specs[i].options_bytes > end - options)
			return -EINVAL;
		change->spec = &specs[i];
		change->link = &links[specs[i].bottleneck];
		if (specs[i].options_bytes)
			change->options = (struct nlattr *)options;
		options += specs[i].options_bytes;
		INIT_WORK(&change->work, change_queue);
		if (specs[i].loss == CCBENCH_UNCHANGED)
			continue;
		err = loss_enable(change->link, header);
		if (err)
			return err;
	}
	return 0;
}

void change_start(u64 epoch_ns)
{
	u32 i;

	for (i = 0; i < change_count; i++)
		changes[i].time_ns = epoch_ns + changes[i].spec->time_ns;
	path_event_init(&next_change, apply_due);
	local_bh_disable();
	wait_for_next();
	local_bh_enable();
}
