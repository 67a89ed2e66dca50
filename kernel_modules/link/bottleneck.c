// SPDX-License-Identifier: GPL-2.0
/*
 * A bottleneck: loss, a queue (any qdisc), a link.
 *
 * The link works like a network card with room for one packet: during a transmission, the
 * transmit queue of the device is stopped, and the packet is no longer part of the backlog.
 * At its end, the link takes the next packet directly from the qdisc instead of scheduling
 * the transmit softirq, which would cost more than the rest of the work. Qdiscs that delay
 * packets (fq, tbf) find the queue started when they release one, and pass it to
 * ndo_start_xmit as usual.
 */
#include <linux/etherdevice.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/prefetch.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

#include "compat.h"
#include "ip_fields.h"
#include "link.h"
#include "link_capacity.h"

/* Size of a delivery opportunity of a Mahimahi trace. */
#define OPPORTUNITY_BYTES	1500

/* Size and payload of an ATM cell. */
#define CELL_BYTES		53
#define CELL_PAYLOAD_BYTES	48

struct ccbench_log *queue_log, *qdisc_log;
bool queue_summary;

static const struct net_device_ops bottleneck_ops;

static uint clears_ecn;
module_param(clears_ecn, uint, 0);
MODULE_PARM_DESC(clears_ecn, "Bottlenecks that clear the ECN field, one bit each");

static struct bottleneck *bottleneck_of(struct net_device *dev)
{
	return *(struct bottleneck **)netdev_priv(dev);
}

/* ---- records of events ------------------------------------------------ */

/* Queue of a packet in a qdisc with a classic and an L4S queue. */
static enum ccbench_queue queue_within(const struct bottleneck *link, const struct sk_buff *skb)
{
	if (!link->l4s_mask)
		return CCBENCH_WHOLE;
	return skb->mark & CCBENCH_MARK_L4S ? CCBENCH_L4S : CCBENCH_CLASSIC;
}

static void record(const struct bottleneck *link, struct sk_buff *skb,
		   enum ccbench_event event)
{
	const enum ccbench_queue queue = queue_within(link, skb);
	struct ccbench_queue_record *r;

	if (queue_summary)
		summary_record(link->index, queue, skb, event);
	if (!queue_log)
		return;
	r = ccbench_log_append(queue_log, sizeof(*r));
	r->time_ns = ccbench_now_ns();
	r->flow = ccbench_flow(skb->mark);
	r->bytes = skb->len;
	r->event = event;
	r->queue = queue;
	r->bottleneck = link->index;
}

/*
 * Destructor of waiting packets. A qdisc may drop any of them, on arrival or later, and
 * each packet that it frees is recorded as dropped.
 */
static void dropped_by_queue(struct sk_buff *skb)
{
	struct bottleneck *link = bottleneck_of(skb->dev);

	/* Packets dropped on arrival are freed later, so this one is only orphaned (by fq). */
	if (skb == link->arriving) {
		link->orphaned = true;
		return;
	}
	conservation_leaves(link, skb, ccbench_now_ns());
	path_count_drop(skb->mark, link->reverse);
	record(link, skb, CCBENCH_DROP);
}

/* ---- link ------------------------------------------------------------- */

static void link_start(struct bottleneck *link, struct sk_buff *skb);

static struct Qdisc *queue_of(const struct bottleneck *link)
{
	return rcu_dereference_bh(netdev_get_tx_queue(link->dev, 0)->qdisc);
}

struct sk_buff *bottleneck_dequeue(struct bottleneck *link)
{
	struct Qdisc *q = queue_of(link);
	spinlock_t *lock = qdisc_lock(q);
	struct sk_buff *skb, *dropped;

	spin_lock(lock);
	skb = qdisc_dequeue_peeked(q);
	dropped = ccbench_dropped_at_departure(q);
	/* The next packet has waited for long; it is NULL if the qdisc has no queue of its own. */
	prefetch(q->q.head);
	spin_unlock(lock);
	if (unlikely(IS_ERR(skb)))
		panic("ccbench: qdisc %s of bottleneck %u: its dequeue returns the error %ld instead of a packet\n",
		      q->ops->id, link->index, PTR_ERR(skb));
	if (unlikely(dropped))
		kfree_skb_list(dropped);
	conservation_length(link, q, skb);
	return skb;
}

static void count_wait(struct bottleneck *link, enum ccbench_queue queue, u64 waited_ns)
{
	link->totals.left[queue].packets++;
	link->totals.left[queue].waited_ns += waited_ns;
}

/* A pause of the link ends: by an arrival, if another packet than this one leaves. */
static void count_pause(struct bottleneck *link, const struct sk_buff *skb, u64 now)
{
	const bool is_waiting = arrival_of(skb)->number + 1 != link->arrivals;

	if (now > link->pause_ns && !link->arrives) {
		link->woken_by_timer++;
		link->others_wake |= link->unarmed;
	} else if (now > link->pause_ns && is_waiting) {
		conservation_wakes(link, skb);
	}
	link->pause_ns = 0;
}

static void leaves_queue(struct bottleneck *link, struct sk_buff *skb)
{
	const enum ccbench_queue queue = queue_within(link, skb);
	const u64 now = ccbench_now_ns();

	if (unlikely(skb->destructor != dropped_by_queue))
		conservation_fail(link, skb, "it has sent a packet that never entered it");
	conservation_sent(link, skb);
	conservation_leaves(link, skb, now);
	/* The guest continues for a short time after the end. */
	if (now <= link->end_ns) {
		count_wait(link, CCBENCH_WHOLE, now - arrival_of(skb)->time_ns);
		if (queue != CCBENCH_WHOLE)
			count_wait(link, queue, now - arrival_of(skb)->time_ns);
	}
	if (unlikely(link->pause_ns))
		count_pause(link, skb, now);
	skb->destructor = NULL;
	if (!(skb->mark & CCBENCH_MARK_CE) && ip_ecn(skb) == INET_ECN_CE)
		record(link, skb, CCBENCH_MARK);
	record(link, skb, CCBENCH_DEQUEUE);
	if (unlikely(link->captures))
		capture_packet(CAPTURE_AFTER(link->index), skb);
	skb->mark &= ~(CCBENCH_MARK_CE | CCBENCH_MARK_L4S);
}

struct sk_buff *bottleneck_take(struct bottleneck *link)
{
	struct sk_buff *skb = bottleneck_dequeue(link);

	if (skb)
		leaves_queue(link, skb);
	return skb;
}

static void link_idle(struct bottleneck *link)
{
	netif_start_queue(link->dev);
	if (link->waiting)
		conservation_pauses(link);
}

/* Sends the next packet on the idle link, or waits for one. */
static void link_next(struct bottleneck *link)
{
	struct sk_buff *skb;

	if (link->wifi) {
		if (!wifi_start(link))
			link_idle(link);
		return;
	}
	skb = bottleneck_dequeue(link);
	if (skb)
		link_start(link, skb);
	else
		link_idle(link);
}

static void forward(struct sk_buff *skb, struct bottleneck *link)
{
	if (ccbench_now_ns() <= link->end_ns) {
		link->totals.carried_packets++;
		link->totals.carried_bytes += skb->len;
	}
	if (unlikely(link->reordering))
		reorder_forward(skb, link);
	else
		link->forward(skb, link);
}

static void link_finish(struct bottleneck *link)
{
	struct sk_buff *skb = link->in_service;

	link->in_service = NULL;
	link_next(link);
	forward(skb, link);
}

/* Time of the next opportunity since the start of the clock. */
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

/* Waits for the next opportunity; unused ones have expired. */
static void trace_wait(struct bottleneck *link)
{
	u64 period_ms = link->trace_ms[link->trace_length - 1];
	u64 period_ns = period_ms * NSEC_PER_MSEC;
	u64 now = ccbench_now_ns();

	if (now > trace_time_ns(link) + period_ns) {
		link->trace_base_ms = div64_u64(now, period_ns) * period_ms;
		link->trace_next = 0;
	}
	while (trace_time_ns(link) < now)
		trace_advance(link);
	path_event_set(&link->sent, path_now_ns() + trace_time_ns(link) - now);
}

/* Uses the current opportunity for the packet in service; returns true at its end. */
static bool trace_spend(struct bottleneck *link)
{
	u32 bytes = min(link->credit_bytes, link->in_service->len - link->sent_bytes);

	link->credit_bytes -= bytes;
	link->sent_bytes += bytes;
	return link->sent_bytes == link->in_service->len;
}

static void trace_opportunity(struct path_event *event)
{
	struct bottleneck *link = container_of(event, struct bottleneck, sent);
	u64 now = ccbench_now_ns();

	rcu_read_lock_bh();
	link->spending = true;
	/* A millisecond can have several opportunities. */
	while (link->in_service && trace_time_ns(link) <= now) {
		trace_advance(link);
		link->credit_bytes = OPPORTUNITY_BYTES;
		/* The rest of an opportunity serves the next packets and then expires. */
		while (link->in_service && link->credit_bytes && trace_spend(link))
			link_finish(link);
	}
	link->spending = false;
	rcu_read_unlock_bh();
	if (link->in_service)
		trace_wait(link);
}

static void rate_sent(struct path_event *event)
{
	rcu_read_lock_bh();
	link_finish(container_of(event, struct bottleneck, sent));
	rcu_read_unlock_bh();
}

static void batch_acked(struct path_event *event)
{
	struct bottleneck *link = container_of(event, struct bottleneck, sent);
	struct sk_buff_head packets;
	struct sk_buff *skb;

	__skb_queue_head_init(&packets);
	rcu_read_lock_bh();
	wifi_finish(link, &packets);
	link_next(link);
	while ((skb = __skb_dequeue(&packets)))
		forward(skb, link);
	rcu_read_unlock_bh();
}

/* Bytes of a packet on a link of constant rate. */
static u64 bytes_on_link(const struct bottleneck *link, u32 bytes)
{
	bytes += link->overhead_bytes;
	return link->cells ? DIV_ROUND_UP(bytes, CELL_PAYLOAD_BYTES) * CELL_BYTES : bytes;
}

static void link_start(struct bottleneck *link, struct sk_buff *skb)
{
	u64 now = path_now_ns();

	leaves_queue(link, skb);
	if (link->wifi) {
		wifi_hold(link->wifi, skb);
		wifi_start(link);
		return;
	}

	netif_stop_queue(link->dev);
	link->in_service = skb;

	if (link->trace_ms) {
		link->sent_bytes = 0;
		if (!link->spending)
			trace_wait(link);
		return;
	}

	/* Successive packets have exact transmission times, including fractions of a ns. */
	if (now > link->free_ns) {
		link->free_ns = now;
		link->free_rest = 0;
	}
	link->free_rest += bytes_on_link(link, skb->len) * BITS_PER_BYTE * NSEC_PER_SEC;
	link->free_ns += div64_u64_rem(link->free_rest, link->rate_bps, &link->free_rest);
	path_event_set(&link->sent, link->free_ns);
}

void bottleneck_set_rate(struct bottleneck *link, u64 rate_bps)
{
	link->rate_bps = rate_bps;
	link->free_rest = 0;
}

void bottleneck_stop(struct bottleneck *link, u64 duration_ns)
{
	link->free_ns = max(link->free_ns, path_now_ns()) + duration_ns;
	link->free_rest = 0;
}

/* ---- capacity of the link --------------------------------------------- */

/* Number of opportunities of a cycle of the trace at or before a time. */
static u32 trace_count(const struct bottleneck *link, u64 ms)
{
	u32 low = 0, high = link->trace_length;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (link->trace_ms[middle] <= ms)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * Bytes of all opportunities from the start of the clock to a time. The sum grows linearly
 * between opportunities, so that differences have no steps.
 */
static u64 trace_capacity(const struct bottleneck *link, u64 time_ns)
{
	u64 period_ns = link->trace_ms[link->trace_length - 1] * NSEC_PER_MSEC;
	u64 rest_ns, rounds = div64_u64_rem(time_ns, period_ns, &rest_ns);
	u32 past = trace_count(link, div_u64(rest_ns, NSEC_PER_MSEC));
	/* The rest is shorter than the period, so there is a next opportunity. */
	u64 next_ns = link->trace_ms[past] * NSEC_PER_MSEC;
	u64 last_ns = past ? link->trace_ms[past - 1] * NSEC_PER_MSEC : 0;
	u32 coming = trace_count(link, link->trace_ms[past]) - past;
	u64 bytes = (rounds * link->trace_length + past) * OPPORTUNITY_BYTES;

	return bytes + mul_u64_u64_div_u64(coming * OPPORTUNITY_BYTES, rest_ns - last_ns,
					   next_ns - last_ns);
}

/* Before the experiment, the link has no capacity. */
static u64 since_epoch(u64 time_ns)
{
	u64 epoch_ns = path_now_ns() - ccbench_now_ns();

	return time_ns > epoch_ns ? time_ns - epoch_ns : 0;
}

s64 ccbench_link_capacity(const struct net_device *dev, u64 from_ns, u64 to_ns)
{
	const struct bottleneck *link;

	if (dev->netdev_ops != &bottleneck_ops)
		return -EOPNOTSUPP;
	link = *(struct bottleneck **)netdev_priv(dev);
	if (!link->trace_ms) {
		u64 rate_bps = link->wifi ? wifi_estimate_bps(link->wifi) : link->rate_bps;

		if (!rate_bps)
			return -ENODATA;
		/* In IP bytes of full packets. */
		rate_bps = mul_u64_u64_div_u64(rate_bps, path_mtu_bytes,
					       bytes_on_link(link, path_mtu_bytes));
		return mul_u64_u64_div_u64(rate_bps, to_ns - from_ns,
					   NSEC_PER_SEC * BITS_PER_BYTE);
	}
	return trace_capacity(link, since_epoch(to_ns)) -
	       trace_capacity(link, since_epoch(from_ns));
}
EXPORT_SYMBOL_GPL(ccbench_link_capacity);

/* ---- queue ------------------------------------------------------------ */

static bool is_in(const struct sk_buff *skb, const struct sk_buff *list)
{
	for (; list; list = list->next)
		if (list == skb)
			return true;
	return false;
}

static void arrive(struct bottleneck *link, struct sk_buff *skb)
{
	struct sk_buff *to_free = NULL;
	spinlock_t *lock;
	struct Qdisc *q;
	bool refused;
	u8 ecn;

	if (unlikely(link->captures))
		capture_packet(CAPTURE_BEFORE(link->index), skb);
	if (unlikely(link->clears_ecn))
		ip_set_ecn(skb, INET_ECN_NOT_ECT);
	ecn = ip_ecn(skb);
	if (ecn & link->l4s_mask)
		skb->mark |= CCBENCH_MARK_L4S;
	if (unlikely(link->losses) && loss_takes(link->losses, skb)) {
		record(link, skb, CCBENCH_LOSS);
		path_count_loss(skb->mark, link->reverse);
		kfree_skb(skb);
		return;
	}

	conservation_enters(link, skb, ccbench_now_ns());
	record(link, skb, CCBENCH_ENQUEUE);
	if (ecn == INET_ECN_CE)
		skb->mark |= CCBENCH_MARK_CE;
	skb->dev = link->dev;
	skb->destructor = dropped_by_queue;
	skb_reset_mac_header(skb);

	rcu_read_lock_bh();
	q = queue_of(link);
	lock = qdisc_lock(q);
	ccbench_set_size(skb);
	link->arriving = skb;
	link->orphaned = false;
	spin_lock(lock);
	refused = qdisc_enqueue(skb, q, &to_free) & NET_XMIT_DROP;
	spin_unlock(lock);
	link->arriving = NULL;
	if (unlikely(refused && !is_in(skb, to_free)))
		panic("ccbench: qdisc %s of bottleneck %u: %s\n", q->ops->id, link->index,
		      link->orphaned ?
		      "it frees an arriving packet itself, which it must give to qdisc_drop()" :
		      "its enqueue returns NET_XMIT_DROP for a packet that it has not dropped");
	if (link->orphaned)
		skb->destructor = dropped_by_queue;
	if (unlikely(to_free))
		kfree_skb_list(to_free);
	conservation_length(link, q, NULL);
	link->arrives = true;
	if (!link->in_service)
		link_next(link);
	link->arrives = false;
	rcu_read_unlock_bh();
}

/* Returns a copy of a packet that arrives twice, or NULL. */
static struct sk_buff *duplicate_of(const struct bottleneck *link, const struct sk_buff *skb)
{
	struct sk_buff *twin;

	if (skb->mark & CCBENCH_MARK_BACKGROUND ||
	    random_u32(&link->duplicate_draws[ccbench_flow(skb->mark) + 1]) >= link->duplicates)
		return NULL;
	twin = skb_copy(skb, GFP_ATOMIC);
	if (twin)
		path_count_duplicate(skb->mark, link->reverse);
	return twin;
}

void bottleneck_receive(struct bottleneck *link, struct sk_buff *skb)
{
	struct sk_buff *twin = unlikely(link->duplicates) ? duplicate_of(link, skb) : NULL;

	arrive(link, skb);
	if (twin)
		arrive(link, twin);
}

/* ---- statistics of the qdisc ------------------------------------------ */

/* The qdisc must not require a lock for its statistics, which are sampled in interrupts. */
void bottleneck_sample(const struct bottleneck *link, u64 time_ns)
{
	/* A structure of the qdisc is copied, as to programs that know only the old format. */
	struct gnet_dump dump = { .compat_xstats = TCA_XSTATS };
	struct ccbench_qdisc_record *r;
	struct Qdisc *q;

	rcu_read_lock();
	q = rcu_dereference(netdev_get_tx_queue(link->dev, 0)->qdisc);
	if (q->ops->dump_stats && !q->ops->dump_stats(q, &dump) && dump.xstats) {
		r = ccbench_log_append(qdisc_log, sizeof(*r));
		*r = (struct ccbench_qdisc_record) {
			.time_ns = time_ns,
			.bottleneck = link->index,
		};
		memcpy(r->statistics, dump.xstats,
		       min_t(size_t, dump.xstats_len, sizeof(r->statistics)));
	}
	rcu_read_unlock();
	kfree(dump.xstats);
}

/* Called when a qdisc releases a packet by itself on the idle link. */
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

int bottleneck_create(struct bottleneck *link, const struct ccbench_link_header *header,
		      const struct ccbench_bottleneck *spec,
		      const struct bottleneck_lists *lists)
{
	struct net_device *dev;
	int err;

	dev = alloc_netdev(sizeof(struct bottleneck *), "bottleneck%d",
			   NET_NAME_ENUM, bottleneck_setup);
	if (!dev)
		return -ENOMEM;
	*(struct bottleneck **)netdev_priv(dev) = link;
	link->dev = dev;
	link->rate_bps = spec->rate_bps;
	link->overhead_bytes = spec->overhead_bytes;
	link->cells = spec->cells;
	if (spec->wifi_frames) {
		link->wifi = wifi_create(spec, lists->trace_ms,
					 random_stream(header->seed, RANDOM_WIFI, link->index, 0));
		if (IS_ERR(link->wifi))
			return PTR_ERR(link->wifi);
	} else {
		link->trace_ms = lists->trace_ms;
		link->trace_length = spec->trace_length;
	}
	link->end_ns = header->duration_ns;
	err = conservation_create(link, header->flows);
	if (err)
		return err;
	link->l4s_mask = spec->l4s_mask;
	link->statistics = spec->statistics;
	link->captures = capture_log;
	link->clears_ecn = clears_ecn & BIT(link->index);
	link->losses = loss_create(header, link->index, spec, lists->lost_packets,
				   lists->loss_points);
	if (IS_ERR(link->losses))
		return PTR_ERR(link->losses);
	link->reordering = reorder_create(header, link->index, spec, &lists->jitter);
	if (IS_ERR(link->reordering))
		return PTR_ERR(link->reordering);
	link->duplicates = spec->duplicates;
	if (link->duplicates) {
		link->duplicate_draws = path_draws(header, RANDOM_DUPLICATES, link->index);
		if (!link->duplicate_draws)
			return -ENOMEM;
	}
	path_event_init(&link->sent, link->wifi ? batch_acked :
			link->trace_ms ? trace_opportunity : rate_sent);

	return register_netdev(dev);
}
