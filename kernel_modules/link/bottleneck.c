// SPDX-License-Identifier: GPL-2.0
/*
 * A bottleneck: random loss, a queue (any qdisc), a link.
 *
 * The link is served like a network card with room for one packet: while it
 * sends, the device's transmit queue is stopped and the packet being sent is no
 * longer part of the backlog. When the packet has left, the link takes the next
 * one from the qdisc directly instead of waking the transmit softirq, which
 * would cost more than the rest of the work. Qdiscs that hold packets back
 * (fq, tbf) find the queue started when they let one go, and hand it over
 * through ndo_start_xmit as usual.
 */
#include <linux/etherdevice.h>
#include <linux/math64.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "compat.h"
#include "link.h"

/* A delivery opportunity of a Mahimahi trace carries this many bytes. */
#define OPPORTUNITY_BYTES	1500

/*
 * Timers may fire this late (the guest programs its clock no closer than half a
 * microsecond ahead). A link that was busy until less than this ago has had
 * packets to send all along, so the next one starts where the last one ended.
 */
#define TIMER_SLACK_NS		1000

static struct bottleneck *bottleneck_of(struct net_device *dev)
{
	return *(struct bottleneck **)netdev_priv(dev);
}

/* ---- the record of what happens to packets ---------------------------- */

static void record(const struct bottleneck *link, const struct sk_buff *skb,
		   enum ccbench_event event)
{
	struct ccbench_queue_record *r;

	if (!queue_log)
		return;
	r = ccbench_log_append(queue_log, sizeof(*r));
	r->time_ns = ccbench_now_ns();
	r->flow = ccbench_flow(skb->mark);
	r->backlog_bytes = link->backlog_bytes;
	r->backlog_packets = link->backlog_packets;
	r->bytes = skb->len;
	r->event = event;
	r->bottleneck = link->index;
}

static void backlog_remove(struct bottleneck *link, const struct sk_buff *skb)
{
	link->backlog_packets--;
	link->backlog_bytes -= skb->len;
}

/*
 * Waiting packets carry this destructor. A qdisc may drop any of them, on
 * arrival or later; whichever it frees is thereby seen to be dropped.
 */
static void dropped_by_queue(struct sk_buff *skb)
{
	struct bottleneck *link = bottleneck_of(skb->dev);

	backlog_remove(link, skb);
	path_count_drop(skb->mark);
	record(link, skb, CCBENCH_DROP);
}

static bool is_ce(struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IP) && INET_ECN_is_ce(ip_hdr(skb)->tos);
}

/* ---- the link --------------------------------------------------------- */

static void link_start(struct bottleneck *link, struct sk_buff *skb);

/* The qdisc's next packet, or NULL. */
static struct sk_buff *queue_take(struct bottleneck *link)
{
	struct Qdisc *q = rcu_dereference_bh(netdev_get_tx_queue(link->dev, 0)->qdisc);
	spinlock_t *lock = qdisc_lock(q);
	struct sk_buff *skb;

	spin_lock(lock);
	skb = qdisc_dequeue_peeked(q);
	spin_unlock(lock);
	return skb;
}

/* The link is idle: send the next packet, or wait for one. */
static void link_next(struct bottleneck *link)
{
	struct sk_buff *skb = queue_take(link);

	if (skb)
		link_start(link, skb);
	else
		netif_start_queue(link->dev);
}

static void link_finish(struct bottleneck *link)
{
	struct sk_buff *skb = link->in_service;

	link->in_service = NULL;
	link_next(link);
	path_forward(skb, link);
}

/* When the given opportunity of the trace comes, counted from the clock's start. */
static u64 trace_time_ns(const struct bottleneck *link)
{
	return (link->trace_base_ms + link->trace_ms[link->trace_next]) * NSEC_PER_MSEC;
}

static void trace_advance(struct bottleneck *link)
{
	if (++link->trace_next < link->trace_length)
		return;
	link->trace_next = 0;
	link->trace_base_ms += link->trace_ms[link->trace_length - 1];
}

/* Wait for the first opportunity at or after now; earlier ones are lost. */
static ktime_t trace_next(struct bottleneck *link)
{
	u64 now = ccbench_now_ns();
	u64 period_ms = link->trace_ms[link->trace_length - 1];

	if (now > trace_time_ns(link) + period_ms * NSEC_PER_MSEC) {
		link->trace_base_ms = div64_u64(now, period_ms * NSEC_PER_MSEC) * period_ms;
		link->trace_next = 0;
	}
	while (trace_time_ns(link) < now)
		trace_advance(link);
	return ns_to_ktime(ktime_get_ns() - now + trace_time_ns(link));
}

/* Spend the current opportunity on the packet in service. */
static bool trace_send(struct bottleneck *link)
{
	u32 bytes = min(link->credit_bytes, link->in_service->len - link->sent_bytes);

	link->credit_bytes -= bytes;
	link->sent_bytes += bytes;
	return link->sent_bytes == link->in_service->len;
}

static enum hrtimer_restart trace_timer(struct hrtimer *timer)
{
	struct bottleneck *link = container_of(timer, struct bottleneck, timer);
	u64 now = ccbench_now_ns();

	rcu_read_lock_bh();
	/* A millisecond may hold many opportunities. */
	while (link->in_service && trace_time_ns(link) <= now) {
		trace_advance(link);
		link->credit_bytes = OPPORTUNITY_BYTES;
		/* What is left of one goes to the packets behind; then it is gone. */
		while (link->in_service && link->credit_bytes && trace_send(link))
			link_finish(link);
	}
	rcu_read_unlock_bh();
	if (!link->in_service)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, trace_next(link));
	return HRTIMER_RESTART;
}

static enum hrtimer_restart rate_timer(struct hrtimer *timer)
{
	struct bottleneck *link = container_of(timer, struct bottleneck, timer);

	rcu_read_lock_bh();
	link_finish(link);
	rcu_read_unlock_bh();
	if (!link->in_service)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, ns_to_ktime(link->free_ns));
	return HRTIMER_RESTART;
}

/* Is the link's timer function running, which will set the timer again? */
static bool in_timer(const struct bottleneck *link)
{
	return hrtimer_callback_running((struct hrtimer *)&link->timer);
}

static void link_start(struct bottleneck *link, struct sk_buff *skb)
{
	u64 now = ktime_get_ns();

	skb->destructor = NULL;
	backlog_remove(link, skb);
	if (!(skb->mark & CCBENCH_MARK_CE) && is_ce(skb))
		record(link, skb, CCBENCH_MARK);
	record(link, skb, CCBENCH_DEQUEUE);
	skb->mark &= ~CCBENCH_MARK_CE;

	netif_stop_queue(link->dev);
	link->in_service = skb;

	if (link->trace_ms) {
		link->sent_bytes = 0;
		if (!in_timer(link))
			hrtimer_start(&link->timer, trace_next(link), HRTIMER_MODE_ABS_SOFT);
		return;
	}

	if (now > link->free_ns + TIMER_SLACK_NS) {
		link->free_ns = now;
		link->free_rest = 0;
	}
	link->free_rest += (u64)skb->len * BITS_PER_BYTE * NSEC_PER_SEC;
	link->free_ns += div64_u64_rem(link->free_rest, link->rate_bps, &link->free_rest);
	if (!in_timer(link))
		hrtimer_start(&link->timer, ns_to_ktime(link->free_ns), HRTIMER_MODE_ABS_SOFT);
}

/* ---- the queue -------------------------------------------------------- */

static bool lost_at_random(struct bottleneck *link)
{
	return link->loss && prandom_u32_state(&link->random) < link->loss;
}

void bottleneck_receive(struct bottleneck *link, struct sk_buff *skb)
{
	struct sk_buff *to_free = NULL;
	spinlock_t *lock;
	struct Qdisc *q;

	if (unlikely(lost_at_random(link))) {
		record(link, skb, CCBENCH_LOSS);
		kfree_skb(skb);
		return;
	}

	link->backlog_packets++;
	link->backlog_bytes += skb->len;
	record(link, skb, CCBENCH_ENQUEUE);
	if (is_ce(skb))
		skb->mark |= CCBENCH_MARK_CE;
	skb->dev = link->dev;
	skb->destructor = dropped_by_queue;
	skb_reset_mac_header(skb);

	rcu_read_lock_bh();
	q = rcu_dereference_bh(netdev_get_tx_queue(link->dev, 0)->qdisc);
	lock = qdisc_lock(q);
	qdisc_skb_cb(skb)->pkt_len = skb->len;
	spin_lock(lock);
	qdisc_enqueue(skb, q, &to_free);
	spin_unlock(lock);
	if (unlikely(to_free))
		kfree_skb_list(to_free);
	if (!link->in_service)
		link_next(link);
	rcu_read_unlock_bh();
}

/* A qdisc lets go of a packet by itself, the link being idle. */
static netdev_tx_t bottleneck_xmit(struct sk_buff *skb, struct net_device *dev)
{
	link_start(bottleneck_of(dev), skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops bottleneck_ops = {
	.ndo_start_xmit = bottleneck_xmit,
};

static void bottleneck_setup(struct net_device *dev)
{
	path_setup_device(dev);
	dev->netdev_ops = &bottleneck_ops;
	dev->tx_queue_len = 1000;
}

int bottleneck_create(struct bottleneck *link, u8 index, bool last,
		      const struct ccbench_bottleneck *spec,
		      const u32 *trace_ms, u64 seed)
{
	struct net_device *dev;

	dev = alloc_netdev(sizeof(struct bottleneck *), "bottleneck%d",
			   NET_NAME_ENUM, bottleneck_setup);
	if (!dev)
		return -ENOMEM;
	*(struct bottleneck **)netdev_priv(dev) = link;
	link->dev = dev;
	link->index = index;
	link->last = last;
	link->rate_bps = spec->rate_bps;
	link->trace_ms = trace_ms;
	link->trace_length = spec->trace_length;
	link->loss = spec->loss;
	/* Every bottleneck has a stream of its own. */
	prandom_seed_state(&link->random, seed + ((u64)index << 32));
	hrtimer_setup(&link->timer, trace_ms ? trace_timer : rate_timer,
		      CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);

	return register_netdev(dev);
}
