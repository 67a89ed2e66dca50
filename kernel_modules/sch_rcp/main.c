// SPDX-License-Identifier: GPL-2.0
/*
 * The router of RCP (Dukkipati, Kobayashi, Zhang-Shen and McKeown, "Processor Sharing Flows in
 * the Internet", IWQoS 2005; Dukkipati's thesis, Stanford, 2007).
 *
 * A first-in first-out queue that offers one rate R to all flows. With input y during the last
 * interval T, a queue q, a link of C and flows with a mean RTT of d,
 *
 *	R += R T/d (alpha (eta C - y) - beta q / d) / (eta C)
 *
 * after each interval. In equilibrium, y = eta C, q = 0 and R is the share of each flow. A packet
 * that leaves has the lowest rate of all routers.
 *
 * Deviations:
 *
 * 1. C is the rate that the link had during the last d: that of an emulated link
 *    (link_capacity.h), or an option. Without either, packets pass as they are.
 * 2. There is no timer: an interval ends with the first packet after it, and a pause counts as
 *    so many intervals without input.
 * 3. R is at most eta C, and at least a packet of 1500 bytes per d, which is the least that a
 *    sender can keep. On an idle link it is eta C.
 * 4. d is a moving average over some 50 packets.
 */
#include <linux/errno.h>
#include <linux/slab.h>

#include "feedback_option.h"
#include "qdisc_options.h"
#include "qdisc_segments.h"
#include "router_rate.h"
#include "sch_rcp.h"

/* Until a flow has stated an RTT. */
#define RCP_FIRST_RTT_US	50000
#define RCP_LEAST_RTT_US	1000U
#define RCP_MOST_RTT_US		1000000U
#define RCP_RTT_PACKETS		50
#define RCP_LEAST_BYTES		1500
/* After so many intervals without input, the link is idle. */
#define RCP_IDLE_INTERVALS	1000

struct rcp_sched {
	u32 params[TCA_RCP_MAX + 1];
	router_capacity capacity;
	u64 rtt_sum_us;		/* mean of the flows times RCP_RTT_PACKETS */
	u64 start_ns;		/* of the interval */
	u64 arrived;		/* bytes in the interval */
	struct tc_rcp_xstats stats;
};

/* ---- control ---------------------------------------------------------- */

static u32 mean_rtt_us(const struct rcp_sched *q)
{
	return clamp_t(u64, div_u64(q->rtt_sum_us, RCP_RTT_PACKETS), RCP_LEAST_RTT_US,
		       RCP_MOST_RTT_US);
}

/* Returns the rate after an interval, which is a part of the RTT. */
static u64 next_rate(const struct rcp_sched *q, u64 rate, u64 target, u64 input, u64 backlog,
		     u32 interval_us)
{
	const u64 drained = mul_u64_u64_div_u64(backlog, USEC_PER_SEC, q->stats.rtt_us);
	const u64 least = div_u64(RCP_LEAST_BYTES * USEC_PER_SEC, q->stats.rtt_us);
	const s64 change =
		(s64)mul_u64_u64_shr(target, q->params[TCA_RCP_ALPHA], RCP_SHIFT) -
		(s64)mul_u64_u64_shr(input, q->params[TCA_RCP_ALPHA], RCP_SHIFT) -
		(s64)mul_u64_u64_shr(drained, q->params[TCA_RCP_BETA], RCP_SHIFT);
	u64 step;

	if (!target)
		return least;
	step = mul_u64_u64_div_u64(rate, abs(change), target);
	step = mul_u64_u64_div_u64(step, interval_us, q->stats.rtt_us);
	if (change >= 0)
		rate += step;
	else
		rate -= min(step, rate);
	return clamp(rate, min(least, target), target);
}

static void control(struct Qdisc *sch, u64 now_ns)
{
	struct rcp_sched *q = qdisc_priv(sch);
	struct tc_rcp_xstats *stats = &q->stats;
	const u32 rtt_us = mean_rtt_us(q);
	const u32 interval_us = min(q->params[TCA_RCP_INTERVAL], rtt_us);
	const u64 elapsed_ns = now_ns - q->start_ns;
	const u64 rtt_ns = (u64)rtt_us * NSEC_PER_USEC;
	u64 target, input, intervals;

	if (elapsed_ns < (u64)interval_us * NSEC_PER_USEC)
		return;
	intervals = div_u64(elapsed_ns, interval_us * (u32)NSEC_PER_USEC);
	stats->rtt_us = rtt_us;
	stats->input_rate = mul_u64_u64_div_u64(q->arrived, NSEC_PER_SEC, elapsed_ns);
	stats->capacity = router_rate(sch, q->capacity, q->params[TCA_RCP_RATE],
				      now_ns > rtt_ns ? now_ns - rtt_ns : 0, now_ns);
	stats->updates++;
	target = mul_u64_u64_shr(stats->capacity, q->params[TCA_RCP_ETA], RCP_SHIFT);
	input = stats->input_rate;
	if (intervals > RCP_IDLE_INTERVALS || !stats->flow_rate)
		stats->flow_rate = target;
	for (; intervals && intervals <= RCP_IDLE_INTERVALS; intervals--)
		stats->flow_rate = next_rate(q, stats->flow_rate, target, input,
					     sch->qstats.backlog, interval_us);
	q->start_ns = now_ns;
	q->arrived = 0;
}

/* ---- packets ---------------------------------------------------------- */

/* Returns the words of a packet with a rate, or NULL. */
static __be32 *rate_of(struct sk_buff *skb, struct tcphdr **th)
{
	unsigned int words;
	__be32 *word;

	*th = feedback_tcp_header(skb);
	word = *th ? feedback_find(*th, FEEDBACK_RCP, &words) : NULL;
	return word && words == RCP_WORDS ? word : NULL;
}

static void offer(struct rcp_sched *q, struct sk_buff *skb)
{
	struct tcphdr *th;
	__be32 *word = rate_of(skb, &th);
	u32 rtt_us, rate;

	if (!word || skb_ensure_writable(skb, skb_network_offset(skb) + feedback_ip_bytes(skb) +
					      __tcp_hdrlen(th))) {
		q->stats.others++;
		return;
	}
	/* The header may have moved. */
	word = rate_of(skb, &th);
	rtt_us = min(be32_to_cpu(word[RCP_RTT]), RCP_MOST_RTT_US);
	if (rtt_us)
		q->rtt_sum_us += rtt_us - div_u64(q->rtt_sum_us, RCP_RTT_PACKETS);
	if (!q->stats.capacity)
		return;
	rate = min_t(u64, q->stats.flow_rate, RCP_NO_RATE - 1);
	feedback_set(skb, th, &word[RCP_RATE], min(be32_to_cpu(word[RCP_RATE]), rate));
	q->stats.answered++;
}

static int enqueue_packet(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct rcp_sched *q = qdisc_priv(sch);

	control(sch, ktime_get_ns());
	q->arrived += qdisc_pkt_len(skb);
	if (sch->q.qlen >= q->params[TCA_RCP_LIMIT])
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static int rcp_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return qdisc_enqueue_segments(skb, sch, to_free, enqueue_packet);
}

static struct sk_buff *rcp_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb = qdisc_dequeue_head(sch);

	if (!skb)
		return NULL;
	control(sch, ktime_get_ns());
	offer(qdisc_priv(sch), skb);
	return skb;
}

/* ---- options and statistics ------------------------------------------- */

static int rcp_change(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct rcp_sched *q = qdisc_priv(sch);
	u32 params[TCA_RCP_MAX + 1];
	int err;

	memcpy(params, q->params, sizeof(params));
	err = qdisc_options_parse(params, TCA_RCP_MAX, rcp_policy, options, extack);
	if (err < 0)
		return err;
	sch_tree_lock(sch);
	memcpy(q->params, params, sizeof(params));
	sch->limit = params[TCA_RCP_LIMIT];
	sch_tree_unlock(sch);
	return 0;
}

static int rcp_init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct rcp_sched *q = qdisc_priv(sch);

	q->capacity = symbol_get(ccbench_link_capacity);
	q->rtt_sum_us = (u64)RCP_FIRST_RTT_US * RCP_RTT_PACKETS;
	q->start_ns = ktime_get_ns();
	memcpy(q->params, rcp_defaults, sizeof(q->params));
	sch->limit = q->params[TCA_RCP_LIMIT];
	return options ? rcp_change(sch, options, extack) : 0;
}

static void rcp_destroy(struct Qdisc *sch)
{
	struct rcp_sched *q = qdisc_priv(sch);

	if (q->capacity)
		symbol_put(ccbench_link_capacity);
}

static int rcp_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct rcp_sched *q = qdisc_priv(sch);

	return qdisc_options_dump(skb, q->params, TCA_RCP_MAX);
}

static int rcp_dump_stats(struct Qdisc *sch, struct gnet_dump *dump)
{
	struct rcp_sched *q = qdisc_priv(sch);
	struct tc_rcp_xstats stats = q->stats;

	return gnet_stats_copy_app(dump, &stats, sizeof(stats));
}

static struct Qdisc_ops rcp_qdisc_ops __read_mostly = {
	.id		= "rcp",
	.priv_size	= sizeof(struct rcp_sched),
	.enqueue	= rcp_enqueue,
	.dequeue	= rcp_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= rcp_init,
	.change		= rcp_change,
	.reset		= qdisc_reset_queue,
	.destroy	= rcp_destroy,
	.dump		= rcp_dump,
	.dump_stats	= rcp_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init rcp_register(void)
{
	BUILD_BUG_ON(TCA_RCP_MAX > QDISC_MOST_OPTIONS);
	return register_qdisc(&rcp_qdisc_ops);
}

static void __exit rcp_unregister(void)
{
	unregister_qdisc(&rcp_qdisc_ops);
}

module_init(rcp_register);
module_exit(rcp_unregister);

MODULE_DESCRIPTION("RCP: router");
MODULE_LICENSE("GPL");
