// SPDX-License-Identifier: GPL-2.0
/*
 * The router of ABC (Goyal et al., "ABC: A Simple Explicit Congestion Controller
 * for Wireless Networks", NSDI 2020).
 *
 * A first-in first-out queue that controls the rate of senders by marks. When a packet
 * leaves, packets should arrive one RTT later at the rate
 *
 *	tr = eta * mu - mu * (x - d_t)+ / delta				(1)
 *
 * on a link of rate mu with a queueing delay x. Senders send two packets for an
 * accelerate and none for a brake, so with departures at rate cr, the fraction
 *
 *	f = min(tr / (2 cr), 1)						(2)
 *
 * of them must be accelerates. A token bucket spreads these evenly (Algorithm 1). A
 * brake of an earlier router remains a brake.
 *
 * Senders without ABC can have their own queue. The link is then divided such that long
 * flows of both kinds have the same rate (weights.c).
 *
 * The rate of the link comes from an option, or from the device, as for emulated links
 * (link_capacity.h), or is estimated from departures while packets wait. Without waiting
 * packets, departures are only a lower bound. The estimate is then twice their rate,
 * because senders at most double theirs.
 */
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/pkt_sched.h>

#include "link_capacity.h"
#include "pkt_abc.h"
#include "qdisc_segments.h"
#include "sch_abc.h"

enum { ABC_QUEUE, OTHER_QUEUE, QUEUES };

struct abc_meters {
	struct abc_meter departures;	/* from ABC's queue */
	struct abc_meter arrivals;	/* at ABC's queue */
	struct abc_meter busy;		/* departures while packets wait, over busy_ns */
	struct abc_flows flows[QUEUES];	/* in the current interval of weights */
	struct abc_zombies zombies[QUEUES];
};

struct abc_sched {
	struct abc_params params;
	struct abc_meters *meters;
	struct qdisc_skb_head queues[QUEUES];
	u64 abc_backlog;	/* bytes in ABC's queue */
	u32 token;

	/* Function for the capacity of the device, if there is one. */
	typeof(ccbench_link_capacity) *capacity;

	/* Estimation of the link's rate. */
	u64 busy_ns;		/* total time with waiting packets */
	u64 last_busy_ns;	/* end of that time */
	u64 last_departure_ns;
	bool waiting;		/* packets have waited since the last departure */

	/* Two queues. */
	s64 lead;		/* of ABC's queue over its share, in 2^-16 bytes */
	u64 weights_due_ns;

	struct tc_abc_xstats stats;
};

/* ---- rates ------------------------------------------------------------ */

static u64 rate_estimate(struct abc_sched *q, u64 now_ns)
{
	struct abc_meters *meters = q->meters;
	u64 window_ns = meters->busy.window_ns;
	u64 rate = abc_meter_rate(&meters->busy, q->busy_ns);

	/* During the first window. */
	if (q->busy_ns < window_ns)
		rate = q->busy_ns ? mul_u64_u64_div_u64(rate, window_ns, q->busy_ns) : 0;
	if (!rate || now_ns - q->last_busy_ns > window_ns)
		rate = max(rate, 2 * abc_meter_rate(&meters->departures, now_ns));
	return rate;
}

/* Rate of the whole link. */
static u64 link_rate(struct Qdisc *sch, u64 now_ns)
{
	struct abc_sched *q = qdisc_priv(sch);

	if (q->params.rate_kbps)
		return q->params.rate_kbps * 125ULL;
	if (q->capacity && q->params.rate_source == ABC_RATE_DEVICE) {
		u64 window_ns = (u64)q->params.window_us * NSEC_PER_USEC;
		u64 to_ns = now_ns + (u64)q->params.lookahead_us * NSEC_PER_USEC;
		u64 from_ns = to_ns > window_ns ? to_ns - window_ns : 0;
		s64 bytes = q->capacity(qdisc_dev(sch), from_ns, to_ns);

		if (bytes >= 0)
			return mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, window_ns);
	}
	return rate_estimate(q, now_ns);
}

/*
 * Backlog over the rate of the link, as in the model of the paper. The waiting time of the
 * current packet would lag by itself, and the queue would drain for too long: on cellular
 * links this costs a tenth of the utilisation.
 */
static u32 queueing_delay_us(u64 backlog, u64 link_rate)
{
	if (!backlog || !link_rate)
		return 0;
	return min_t(u64, mul_u64_u64_div_u64(backlog, USEC_PER_SEC, link_rate), U32_MAX);
}

/* Equation (1). */
static u64 target_rate(const struct abc_params *params, u64 link_rate, u64 delay_us)
{
	u64 share = params->eta;

	if (delay_us > params->delay_threshold_us) {
		u64 excess_us = delay_us - params->delay_threshold_us;
		u64 loss = div_u64(excess_us << ABC_SHIFT, params->delta_us);

		share -= min(share, loss);
	}
	return mul_u64_u64_shr(link_rate, share, ABC_SHIFT);
}

/* Equation (2). */
static u32 accelerate_fraction(u64 target_rate, u64 current_rate)
{
	if (target_rate >= 2 * current_rate)
		return ABC_ONE;
	return mul_u64_u64_div_u64(target_rate, ABC_ONE, 2 * current_rate);
}

/* ---- two queues ------------------------------------------------------- */

static void set_weights(struct abc_sched *q, u64 link_rate, u64 now_ns)
{
	const struct abc_params *params = &q->params;
	struct abc_flows *flows = q->meters->flows;
	u64 interval_ns = (u64)params->weight_interval_us * NSEC_PER_USEC;

	if (now_ns < q->weights_due_ns)
		return;
	if (q->weights_due_ns && (flows[ABC_QUEUE].total || flows[OTHER_QUEUE].total)) {
		u64 capacity = mul_u64_u64_div_u64(link_rate, interval_ns, NSEC_PER_SEC);

		q->stats.weight = abc_fair_weight(flows, capacity, params->headroom);
		if (params->weights == ABC_FLOW_COUNTS && flows[ABC_QUEUE].total &&
		    flows[OTHER_QUEUE].total)
			q->stats.weight = abc_zombies_weight(q->meters->zombies);
	}
	memset(flows, 0, sizeof(q->meters->flows));
	q->weights_due_ns = now_ns + interval_ns;
}

static u32 choose_queue(const struct abc_sched *q)
{
	if (!q->queues[OTHER_QUEUE].qlen)
		return ABC_QUEUE;
	if (!q->queues[ABC_QUEUE].qlen)
		return OTHER_QUEUE;
	return q->lead > 0 ? OTHER_QUEUE : ABC_QUEUE;
}

/* The queues only balance while both have packets. */
static void charge(struct abc_sched *q, u32 queue, u32 bytes)
{
	u32 weight = clamp(q->stats.weight, ABC_LEAST_WEIGHT, ABC_ONE - ABC_LEAST_WEIGHT);

	if (!q->queues[!queue].qlen)
		q->lead = 0;
	else if (queue == ABC_QUEUE)
		q->lead += (s64)bytes * (ABC_ONE - weight);
	else
		q->lead -= (s64)bytes * weight;
}

/* ---- the queue -------------------------------------------------------- */

static int enqueue_packet(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct abc_sched *q = qdisc_priv(sch);
	u32 queue = q->params.two_queues && abc_mark_of(skb, q->params.encoding) == NOT_ABC ?
		    OTHER_QUEUE : ABC_QUEUE;

	if (q->queues[queue].qlen >= q->params.limit)
		return qdisc_drop(skb, sch, to_free);
	if (queue == ABC_QUEUE) {
		q->abc_backlog += qdisc_pkt_len(skb);
		if (q->params.feedback == ABC_ENQUEUE)
			abc_meter_add(&q->meters->arrivals, ktime_get_ns(), qdisc_pkt_len(skb));
	}
	__qdisc_enqueue_tail(skb, &q->queues[queue]);
	qdisc_qstats_backlog_inc(sch, skb);
	sch->q.qlen++;
	return NET_XMIT_SUCCESS;
}

/* Every packet has its own mark. */
static int abc_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return qdisc_enqueue_segments(skb, sch, to_free, enqueue_packet);
}

/* Algorithm 1; brakes remain brakes. */
static void mark_packet(struct abc_sched *q, struct sk_buff *skb)
{
	enum abc_mark mark = abc_mark_of(skb, q->params.encoding);
	struct tc_abc_xstats *stats = &q->stats;

	if (mark == NOT_ABC) {
		stats->others++;
		stats->other_bytes += qdisc_pkt_len(skb);
		return;
	}
	stats->abc_bytes += qdisc_pkt_len(skb);
	q->token = min(q->token + stats->fraction, q->params.token_limit);
	if (mark == CONGESTED) {
		stats->congested_before++;
	} else if (mark == BRAKE) {
		stats->braked_before++;
	} else if (q->token > ABC_ONE) {
		q->token -= ABC_ONE;
		stats->accelerates++;
	} else {
		abc_make_brake(skb, q->params.encoding);
		stats->brakes++;
	}
}

static void follow_link(struct Qdisc *sch, u64 now_ns)
{
	struct abc_sched *q = qdisc_priv(sch);

	if (q->waiting) {
		q->busy_ns += now_ns - q->last_departure_ns;
		q->last_busy_ns = now_ns;
	}
	q->last_departure_ns = now_ns;
	q->waiting = sch->q.qlen;
}

static struct sk_buff *abc_dequeue(struct Qdisc *sch)
{
	struct abc_sched *q = qdisc_priv(sch);
	struct abc_meters *meters = q->meters;
	struct tc_abc_xstats *stats = &q->stats;
	u32 queue = choose_queue(q);
	struct sk_buff *skb = __qdisc_dequeue_head(&q->queues[queue]);
	u64 now_ns, rate;
	u32 bytes;

	if (!skb)
		return NULL;
	bytes = qdisc_pkt_len(skb);
	qdisc_qstats_backlog_dec(sch, skb);
	sch->q.qlen--;
	qdisc_bstats_update(sch, skb);

	now_ns = ktime_get_ns();
	follow_link(sch, now_ns);
	rate = link_rate(sch, now_ns);
	if (q->waiting)
		abc_meter_add(&meters->busy, q->busy_ns, bytes);
	if (q->params.two_queues) {
		charge(q, queue, bytes);
		set_weights(q, rate, now_ns);
		abc_flows_count(&meters->flows[queue], q->params.flows, skb_get_hash(skb), bytes);
		abc_zombies_count(&meters->zombies[queue], skb_get_hash(skb));
		rate = mul_u64_u64_shr(rate, stats->weight, ABC_SHIFT);
	}

	if (queue == ABC_QUEUE) {
		q->abc_backlog -= bytes;
		stats->link_rate = rate;
		stats->delay_us = queueing_delay_us(q->abc_backlog, rate);
		stats->target_rate = target_rate(&q->params, rate, stats->delay_us);
		stats->current_rate = abc_meter_rate(q->params.feedback == ABC_ENQUEUE ?
						     &meters->arrivals : &meters->departures,
						     now_ns);
		stats->fraction = accelerate_fraction(stats->target_rate, stats->current_rate);
		abc_meter_add(&meters->departures, now_ns, bytes);
	}
	mark_packet(q, skb);
	return skb;
}

/* ---- options and statistics ------------------------------------------- */

/* Resets the measurements that depend on changed parameters. */
static void apply(struct abc_sched *q, const struct abc_params *params)
{
	if (params->window_us != q->params.window_us) {
		u64 window_ns = (u64)params->window_us * NSEC_PER_USEC;

		abc_meter_init(&q->meters->departures, window_ns);
		abc_meter_init(&q->meters->arrivals, window_ns);
		abc_meter_init(&q->meters->busy, window_ns);
		q->busy_ns = 0;
	}
	if (params->two_queues != q->params.two_queues || params->flows != q->params.flows) {
		memset(q->meters->flows, 0, sizeof(q->meters->flows));
		q->weights_due_ns = 0;
		q->stats.weight = params->two_queues ? ABC_ONE / 2 : ABC_ONE;
	}
	q->params = *params;
	q->token = min(q->token, params->token_limit);
}

static int abc_change(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct abc_sched *q = qdisc_priv(sch);
	struct abc_params params = q->params;
	int err = abc_params_parse(&params, options, extack);

	if (err < 0)
		return err;
	sch_tree_lock(sch);
	apply(q, &params);
	sch->limit = params.limit;
	sch_tree_unlock(sch);
	return 0;
}

static int abc_init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct abc_sched *q = qdisc_priv(sch);

	q->meters = kvzalloc(sizeof(*q->meters), GFP_KERNEL);
	if (!q->meters)
		return -ENOMEM;
	q->capacity = symbol_get(ccbench_link_capacity);
	q->stats.weight = ABC_ONE;
	apply(q, &abc_defaults);
	sch->limit = abc_defaults.limit;
	return options ? abc_change(sch, options, extack) : 0;
}

static void abc_reset(struct Qdisc *sch)
{
	struct abc_sched *q = qdisc_priv(sch);
	u32 i;

	for (i = 0; i < QUEUES; i++)
		__qdisc_reset_queue(&q->queues[i]);
	q->abc_backlog = 0;
	q->token = 0;
	q->lead = 0;
	q->waiting = false;
}

static void abc_destroy(struct Qdisc *sch)
{
	struct abc_sched *q = qdisc_priv(sch);

	if (q->capacity)
		symbol_put(ccbench_link_capacity);
	kvfree(q->meters);
}

static int abc_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct abc_sched *q = qdisc_priv(sch);
	struct nlattr *options = nla_nest_start(skb, TCA_OPTIONS);

	if (!options)
		return -EMSGSIZE;
	if (abc_params_put(skb, &q->params)) {
		nla_nest_cancel(skb, options);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, options);
}

static int abc_dump_stats(struct Qdisc *sch, struct gnet_dump *dump)
{
	struct abc_sched *q = qdisc_priv(sch);
	struct tc_abc_xstats stats = q->stats;

	stats.token = q->token;
	stats.abc_packets = q->queues[ABC_QUEUE].qlen;
	stats.other_packets = q->queues[OTHER_QUEUE].qlen;
	return gnet_stats_copy_app(dump, &stats, sizeof(stats));
}

static struct Qdisc_ops abc_qdisc_ops __read_mostly = {
	.id		= "abc",
	.priv_size	= sizeof(struct abc_sched),
	.enqueue	= abc_enqueue,
	.dequeue	= abc_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= abc_init,
	.change		= abc_change,
	.reset		= abc_reset,
	.destroy	= abc_destroy,
	.dump		= abc_dump,
	.dump_stats	= abc_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init abc_register(void)
{
	return register_qdisc(&abc_qdisc_ops);
}

static void __exit abc_unregister(void)
{
	unregister_qdisc(&abc_qdisc_ops);
}

module_init(abc_register);
module_exit(abc_unregister);

MODULE_DESCRIPTION("Accel-Brake Control: router");
MODULE_LICENSE("GPL");
