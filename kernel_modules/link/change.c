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
	struct path_event due;
	struct work_struct work;
	u64 time_ns;
};

static struct change *changes;
static u32 change_count;

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

static void apply(struct path_event *due)
{
	struct change *change = container_of(due, struct change, due);
	const struct ccbench_change *spec = change->spec;

	if (spec->every_ns) {
		change->time_ns += spec->every_ns;
		path_event_set(&change->due, change->time_ns);
	}
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
		path_event_init(&change->due, apply);
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

	local_bh_disable();
	for (i = 0; i < change_count; i++) {
		changes[i].time_ns = epoch_ns + changes[i].spec->time_ns;
		path_event_set(&changes[i].due, changes[i].time_ns);
	}
	local_bh_enable();
}
