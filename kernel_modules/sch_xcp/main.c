// SPDX-License-Identifier: GPL-2.0
/*
 * The router of XCP (Katabi, Handley and Rohrs, "Congestion Control for High Bandwidth-Delay
 * Product Networks", SIGCOMM 2002; draft-falk-xcp-spec-03), and of XCPw, its variant for
 * wireless links (Goyal et al., "ABC: A Simple Explicit Congestion Controller for Wireless
 * Networks", NSDI 2020, section 7.3).
 *
 * A first-in first-out queue that grants changes of rates. Over an interval of the flows' mean
 * RTT d, with input y, a link of C and a persistent queue Q,
 *
 *	F = alpha (C - y) - beta Q / d
 *
 * is the change of all rates together (efficiency). It is divided such that each flow increases
 * by the same, and decreases in proportion to its rate, and a part of the traffic is shuffled
 * even if F is 0 (fairness):
 *
 *	positive = max(0, gamma y - |F|) + max(0, F)
 *	negative = max(0, gamma y - |F|) + max(0, -F)
 *	change of a packet = positive spacing / (sum of spacings) - negative size / (sum of sizes)
 *
 * where the spacing is the time between two packets of a flow, and the sums are those of the
 * packets that have left during the interval. A packet has the smallest change of all routers and of its request.
 *
 *	XCP	computes F once per interval, and grants no more than that in the next one
 *	XCPw	computes F and the sums with each packet, over the last interval
 *
 * Deviations:
 *
 * 1. C is the rate that the link had during the interval: that of an emulated link
 *    (link_capacity.h), or an option. Without either, packets pass as they are.
 * 2. Q is the shortest queue of the last interval without its own queueing delay, as in the
 *    paper; the draft computes it half as often again. Times are those of slots of a sixteenth
 *    of the interval.
 * 3. XCP has no timer: an interval ends with the first packet after it.
 * 4. The interval is between 1 ms and 1 s, and 1 s is the longest RTT of a flow that counts.
 * 5. The authors of XCPw divide F equally among packets, so that a flow that sends more grows by
 *    more, and do not shuffle traffic; their RTT is 100 ms and the queueing delay. Here XCPw
 *    divides F as XCP does, and only the times of its computation differ, as the paper states.
 * 6. With XCPw, the sum of spacings is at least an interval, which is that of a single flow.
 *    Otherwise the first packet after an outage would get all of F, the second one half, and so
 *    on, and the link would be granted several times.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "feedback_option.h"
#include "qdisc_options.h"
#include "qdisc_segments.h"
#include "router_rate.h"
#include "sch_xcp.h"

/* Until a flow has stated an RTT. */
#define XCP_FIRST_RTT_US	50000

/* What an interval grants. */
struct xcp_grant {
	u64 positive;		/* bytes per second */
	u64 negative;
	u64 spacing_ns;		/* sums of the packets among which it is divided */
	u64 bytes;
	u64 positive_left;
	u64 negative_left;
};

struct xcp_sched {
	u32 params[TCA_XCP_MAX + 1];
	router_capacity capacity;
	struct xcp_measure *measure;
	struct xcp_grant grant;
	u64 interval_start_ns;
	u32 rtt_us;		/* mean of the flows */
	struct tc_xcp_xstats stats;
};

static u64 interval_ns(const struct xcp_sched *q)
{
	return (u64)q->rtt_us * NSEC_PER_USEC;
}

/* ---- control ---------------------------------------------------------- */

/* The RTT without the queue, but at least half of it. */
static u64 propagation_ns(const struct xcp_sched *q, u64 backlog, u64 capacity)
{
	const u64 whole_ns = interval_ns(q);
	const u64 queueing_ns = capacity ? mul_u64_u64_div_u64(backlog, NSEC_PER_SEC, capacity) : 0;

	return whole_ns - min(queueing_ns, whole_ns / 2);
}

static u64 scaled(u64 rate, u32 factor)
{
	return mul_u64_u64_shr(rate, factor, XCP_SHIFT);
}

/* Returns what an interval grants, from the sums of the last time. */
static struct xcp_grant decide(struct Qdisc *sch, u64 now_ns, u64 sums_ns)
{
	struct xcp_sched *q = qdisc_priv(sch);
	struct tc_xcp_xstats *stats = &q->stats;
	const u64 backlog = sch->qstats.backlog;
	const struct xcp_sums sums =
		xcp_measure_sums(q->measure, now_ns, sums_ns,
				 propagation_ns(q, backlog, stats->capacity));
	const u64 elapsed_ns = max(now_ns - sums.start_ns, 1ULL);
	u64 shuffled, size;
	s64 change;

	if (sums.spacing_ns)
		q->rtt_us = clamp_t(u64, div64_u64(sums.rtt_spacing, sums.spacing_ns),
				    XCP_LEAST_RTT_US, XCP_MOST_RTT_US);
	stats->rtt_us = q->rtt_us;
	stats->queue_bytes = min_t(u64, sums.least_queue, backlog);
	stats->input_rate = mul_u64_u64_div_u64(sums.arrived_bytes, NSEC_PER_SEC, elapsed_ns);
	stats->capacity = router_rate(sch, q->capacity, q->params[TCA_XCP_RATE], sums.start_ns,
				      now_ns);

	change = (s64)scaled(stats->capacity, q->params[TCA_XCP_ALPHA]) -
		 (s64)scaled(stats->input_rate, q->params[TCA_XCP_ALPHA]) -
		 (s64)scaled(mul_u64_u64_div_u64(stats->queue_bytes, USEC_PER_SEC, q->rtt_us),
			     q->params[TCA_XCP_BETA]);
	size = abs(change);
	shuffled = scaled(stats->input_rate, q->params[TCA_XCP_GAMMA]);
	shuffled = shuffled > size ? shuffled - size : 0;
	stats->feedback = change;
	stats->positive = shuffled + max(change, 0LL);
	stats->negative = shuffled + max(-change, 0LL);
	return (struct xcp_grant) {
		/* Of the sums' time, which is about an interval. */
		.positive = stats->positive,
		.negative = stats->negative,
		.spacing_ns = sums.spacing_ns,
		.bytes = sums.bytes,
		.positive_left = stats->positive,
		.negative_left = stats->negative,
	};
}

static void control(struct Qdisc *sch, u64 now_ns)
{
	struct xcp_sched *q = qdisc_priv(sch);

	if (q->params[TCA_XCP_UPDATE] == XCP_PACKET) {
		q->grant = decide(sch, now_ns, interval_ns(q));
		q->grant.spacing_ns = max(q->grant.spacing_ns, interval_ns(q));
	} else if (now_ns - q->interval_start_ns >= interval_ns(q)) {
		q->grant = decide(sch, now_ns, now_ns - q->interval_start_ns);
		q->interval_start_ns = now_ns;
	}
}

static u64 share(u64 whole, u64 part, u64 sum)
{
	return sum ? mul_u64_u64_div_u64(whole, part, sum) : 0;
}

/* Returns the change that a packet gets, and takes it from what is left. */
static s32 grant_change(struct xcp_grant *grant, u32 spacing_ns, u32 bytes, s32 request)
{
	u64 positive = min(share(grant->positive, spacing_ns, grant->spacing_ns),
			   grant->positive_left);
	u64 negative = min(share(grant->negative, bytes, grant->bytes), grant->negative_left);
	s64 change = (s64)positive - (s64)negative;

	if (request < change) {
		/* Another router, or the sender, grants less: what it takes away is less, too. */
		negative = min(grant->negative_left, negative + (u64)(change - request));
		positive = max_t(s64, request + (s64)negative, 0);
		positive = min(positive, grant->positive_left);
		change = request;
	}
	grant->positive_left -= positive;
	grant->negative_left -= negative;
	return clamp_t(s64, change, -S32_MAX, S32_MAX);
}

/* ---- packets ---------------------------------------------------------- */

/* Returns the words of a packet's request, or NULL. */
static __be32 *request_of(struct sk_buff *skb, struct tcphdr **th)
{
	unsigned int words;
	__be32 *word;

	*th = feedback_tcp_header(skb);
	word = *th ? feedback_find(*th, FEEDBACK_XCP, &words) : NULL;
	return word && words == XCP_WORDS ? word : NULL;
}

/* Answers the request of a packet that leaves. */
static void answer(struct Qdisc *sch, struct sk_buff *skb, u64 now_ns)
{
	struct xcp_sched *q = qdisc_priv(sch);
	const u32 bytes = qdisc_pkt_len(skb);
	u32 rtt_us, spacing_ns, stated;
	struct tcphdr *th;
	__be32 *word = request_of(skb, &th);
	s32 request;

	if (!word || skb_ensure_writable(skb, skb_network_offset(skb) + feedback_ip_bytes(skb) +
					      __tcp_hdrlen(th))) {
		q->stats.others++;
		control(sch, now_ns);
		return;
	}
	/* The header may have moved. */
	word = request_of(skb, &th);
	stated = be32_to_cpu(word[XCP_RTT]);
	rtt_us = min(stated & ~XCP_ANSWERED, XCP_MOST_RTT_US);
	spacing_ns = rtt_us ? be32_to_cpu(word[XCP_SPACING]) : 0;
	request = (s32)be32_to_cpu(word[XCP_DELTA]);
	xcp_measure_request(q->measure, bytes, spacing_ns, rtt_us);
	control(sch, now_ns);
	q->stats.answered++;
	if (!q->stats.capacity)
		return;
	if (rtt_us)
		request = min(request, grant_change(&q->grant, spacing_ns, bytes, request));
	else
		request = min(request, 0);
	feedback_set(skb, th, &word[XCP_DELTA], (u32)request);
	feedback_set(skb, th, &word[XCP_RTT], stated | XCP_ANSWERED);
}

static int enqueue_packet(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct xcp_sched *q = qdisc_priv(sch);
	const u64 now_ns = ktime_get_ns();

	xcp_measure_advance(q->measure, now_ns, interval_ns(q));
	xcp_measure_arrival(q->measure, now_ns, qdisc_pkt_len(skb));
	xcp_measure_queue(q->measure, sch->qstats.backlog);
	if (sch->q.qlen >= q->params[TCA_XCP_LIMIT])
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static int xcp_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return qdisc_enqueue_segments(skb, sch, to_free, enqueue_packet);
}

static struct sk_buff *xcp_dequeue(struct Qdisc *sch)
{
	struct xcp_sched *q = qdisc_priv(sch);
	struct sk_buff *skb = qdisc_dequeue_head(sch);
	const u64 now_ns = ktime_get_ns();

	if (!skb)
		return NULL;
	xcp_measure_advance(q->measure, now_ns, interval_ns(q));
	xcp_measure_queue(q->measure, sch->qstats.backlog);
	answer(sch, skb, now_ns);
	return skb;
}

/* ---- options and statistics ------------------------------------------- */

static int xcp_change(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct xcp_sched *q = qdisc_priv(sch);
	u32 params[TCA_XCP_MAX + 1];
	int err;

	memcpy(params, q->params, sizeof(params));
	err = qdisc_options_parse(params, TCA_XCP_MAX, xcp_policy, options, extack);
	if (err < 0)
		return err;
	sch_tree_lock(sch);
	memcpy(q->params, params, sizeof(params));
	sch->limit = params[TCA_XCP_LIMIT];
	sch_tree_unlock(sch);
	return 0;
}

static int xcp_init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct xcp_sched *q = qdisc_priv(sch);

	q->measure = kvzalloc(sizeof(*q->measure), GFP_KERNEL);
	if (!q->measure)
		return -ENOMEM;
	q->capacity = symbol_get(ccbench_link_capacity);
	q->rtt_us = XCP_FIRST_RTT_US;
	q->interval_start_ns = ktime_get_ns();
	memcpy(q->params, xcp_defaults, sizeof(q->params));
	sch->limit = q->params[TCA_XCP_LIMIT];
	return options ? xcp_change(sch, options, extack) : 0;
}

static void xcp_destroy(struct Qdisc *sch)
{
	struct xcp_sched *q = qdisc_priv(sch);

	if (q->capacity)
		symbol_put(ccbench_link_capacity);
	kvfree(q->measure);
}

static int xcp_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct xcp_sched *q = qdisc_priv(sch);

	return qdisc_options_dump(skb, q->params, TCA_XCP_MAX);
}

static int xcp_dump_stats(struct Qdisc *sch, struct gnet_dump *dump)
{
	struct xcp_sched *q = qdisc_priv(sch);
	struct tc_xcp_xstats stats = q->stats;

	return gnet_stats_copy_app(dump, &stats, sizeof(stats));
}

static struct Qdisc_ops xcp_qdisc_ops __read_mostly = {
	.id		= "xcp",
	.priv_size	= sizeof(struct xcp_sched),
	.enqueue	= xcp_enqueue,
	.dequeue	= xcp_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= xcp_init,
	.change		= xcp_change,
	.reset		= qdisc_reset_queue,
	.destroy	= xcp_destroy,
	.dump		= xcp_dump,
	.dump_stats	= xcp_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init xcp_register(void)
{
	BUILD_BUG_ON(TCA_XCP_MAX > QDISC_MOST_OPTIONS);
	return register_qdisc(&xcp_qdisc_ops);
}

static void __exit xcp_unregister(void)
{
	unregister_qdisc(&xcp_qdisc_ops);
}

module_init(xcp_register);
module_exit(xcp_unregister);

MODULE_DESCRIPTION("XCP: router");
MODULE_LICENSE("GPL");
