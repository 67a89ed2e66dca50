// SPDX-License-Identifier: GPL-2.0
/*
 * Conservation of the packets in a queue: each one that enters a qdisc leaves it once, or is
 * dropped once, as the same packet. A qdisc that does otherwise gives wrong numbers, so the
 * first such packet ends the run.
 *
 * A bit for each packet tells whether it is in the queue. After the experiment, the queues are
 * emptied; packets that do not appear are lost.
 */
#include <linux/bitmap.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/rtnetlink.h>
#include <net/sch_generic.h>

#include "link.h"

/* Number of packets whose presence is known: those that arrived last. A power of two. */
#define TRACKED		(1U << 20)

/* A link that has been idle for longer, while packets wait, has a qdisc that has stopped. */
#define LONGEST_PAUSE_NS	NSEC_PER_SEC
/* The same as a part of the experiment; a slow shaper may pause for long. */
#define LONGEST_PAUSE_PART	10

static struct Qdisc *qdisc_of(const struct bottleneck *link)
{
	return rcu_dereference_raw(netdev_get_tx_queue(link->dev, 0)->qdisc);
}

void conservation_fail(const struct bottleneck *link, const struct sk_buff *skb,
		       const char *problem)
{
	const u32 flow = ccbench_flow(skb->mark);
	char whose[24] = "no flow";

	if (flow < link->flows)
		snprintf(whose, sizeof(whose), "flow %u", flow);
	panic("ccbench: qdisc %s of bottleneck %u: at %llu ns, %s: a packet of %u bytes of %s\n",
	      qdisc_of(link)->ops->id, link->index, ccbench_now_ns(), problem, skb->len, whose);
}

int conservation_create(struct bottleneck *link, u32 flows)
{
	link->flows = flows;
	link->present = kvcalloc(BITS_TO_LONGS(TRACKED), sizeof(long), GFP_KERNEL);
	return link->present ? 0 : -ENOMEM;
}

void conservation_enters(struct bottleneck *link, struct sk_buff *skb, u64 now)
{
	const u32 number = link->arrivals++;

	*arrival_of(skb) = (struct arrival) {
		.time_ns = now,
		.number = number,
		.bytes = skb->len,
		.mark = skb->mark,
	};
	link->waiting++;
	if (unlikely(__test_and_set_bit(number % TRACKED, link->present)) && !link->overdue)
		link->overdue = number - TRACKED + 1;
}

void conservation_sent(const struct bottleneck *link, const struct sk_buff *skb)
{
	const struct arrival *arrival = arrival_of(skb);

	if (unlikely(arrival->mark != (u16)skb->mark))
		conservation_fail(link, skb, "it has changed skb->mark, or the end of skb->cb");
	if (unlikely(arrival->bytes != (u16)skb->len))
		conservation_fail(link, skb, "it has changed the length, or the end of skb->cb");
}

void conservation_leaves(struct bottleneck *link, const struct sk_buff *skb, u64 now)
{
	const struct arrival *arrival = arrival_of(skb);

	if (unlikely(arrival->time_ns > now || arrival->number >= link->arrivals))
		conservation_fail(link, skb, "it has changed the end of skb->cb");
	if (unlikely(!__test_and_clear_bit(arrival->number % TRACKED, link->present)) &&
	    !link->overdue)
		conservation_fail(link, skb, "it has sent or freed a packet twice");
	link->waiting--;
}

/* Number of the first packet that arrived and is in the queue, from 1. */
static u32 first_present(const struct bottleneck *link)
{
	const u32 begin = link->arrivals > TRACKED ? link->arrivals - TRACKED : 0;
	u32 number;

	if (link->overdue)
		return link->overdue;
	for (number = begin; number != link->arrivals; number++)
		if (test_bit(number % TRACKED, link->present))
			break;
	return number + 1;
}

static void check_pause(const struct bottleneck *link)
{
	const u64 now = ccbench_now_ns();

	if (link->waiting && link->pause_ns &&
	    now - link->pause_ns > max(LONGEST_PAUSE_NS, link->end_ns / LONGEST_PAUSE_PART))
		panic("ccbench: qdisc %s of bottleneck %u: since %llu ns, it sends nothing over an idle link, while %u packets wait: the first is number %u of %u that arrived\n",
		      qdisc_of(link)->ops->id, link->index, link->pause_ns, link->waiting,
		      first_present(link), link->arrivals);
}

static void empty(struct bottleneck *link)
{
	struct Qdisc *q = qdisc_of(link);
	struct sk_buff *skb;
	u32 left;

	for (left = link->waiting; left && (skb = bottleneck_dequeue(link)); left--)
		kfree_skb(skb);
	spin_lock_bh(qdisc_lock(q));
	qdisc_reset(q);
	spin_unlock_bh(qdisc_lock(q));
}

void conservation_check(struct bottleneck *links, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		check_pause(&links[i]);
	rtnl_lock();
	rcu_read_lock_bh();
	for (i = 0; i < count; i++)
		empty(&links[i]);
	rcu_read_unlock_bh();
	/* This frees packets whose freeing qdiscs have deferred. */
	rtnl_unlock();
	for (i = 0; i < count; i++)
		if (links[i].waiting)
			panic("ccbench: qdisc %s of bottleneck %u: %u of %u packets have neither left it nor been freed: the first is number %u that arrived\n",
			      qdisc_of(&links[i])->ops->id, i, links[i].waiting,
			      links[i].arrivals, first_present(&links[i]));
}
