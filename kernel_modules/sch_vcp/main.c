// SPDX-License-Identifier: GPL-2.0
/*
 * The router of VCP, the Variable-structure congestion Control Protocol (Xia, Subramanian,
 * Stoica and Kalyanaraman, "One More Bit Is Enough", SIGCOMM 2005).
 *
 * A first-in first-out queue that states the load of its link. After each interval t_rho, with
 * input lambda (bytes), a mean queue q and a link of C, the load factor is
 *
 *	rho = (lambda + kappa q) / (gamma C t_rho)
 *
 * Packets that leave in the next interval have its code in the bits of ECN, unless that of an
 * earlier router is higher:
 *
 *	low		rho below 0.8		01, which is what senders set
 *	high		below 1			10
 *	overload	1 or more		11
 *
 * Deviations:
 *
 * 1. C is the rate that the link had during the interval: that of an emulated link
 *    (link_capacity.h), or an option. Without either, packets pass as they are.
 * 2. q is the mean over the interval; the paper has a low-pass filter over samples.
 * 3. There is no timer: an interval ends with the first packet after it.
 * 4. Packets of senders with ECN, but without VCP, cannot be told from VCP's.
 */
#include <linux/errno.h>
#include <linux/slab.h>

#include "feedback_option.h"
#include "ip_fields.h"
#include "qdisc_options.h"
#include "qdisc_segments.h"
#include "router_rate.h"
#include "sch_vcp.h"

#define VCP_LOW_BELOW	(VCP_ONE / 5 * 4)
#define VCP_HIGH_BELOW	VCP_ONE

struct vcp_sched {
	u32 params[TCA_VCP_MAX + 1];
	router_capacity capacity;
	u64 start_ns;		/* of the interval */
	u64 arrived;		/* bytes in the interval */
	u64 queue_ns;		/* bytes in the queue times time */
	u64 last_ns;		/* time up to which they are known */
	struct tc_vcp_xstats stats;
};

/* ---- control ---------------------------------------------------------- */

static u32 code_of(u32 load)
{
	if (load < VCP_LOW_BELOW)
		return VCP_LOW;
	return load < VCP_HIGH_BELOW ? VCP_HIGH : VCP_OVERLOAD;
}

/* Called before each change of the queue. */
static void control(struct Qdisc *sch, u64 now_ns)
{
	struct vcp_sched *q = qdisc_priv(sch);
	struct tc_vcp_xstats *stats = &q->stats;
	const u64 elapsed_ns = now_ns - q->start_ns;
	u64 target, demand;

	q->queue_ns += sch->qstats.backlog * (now_ns - q->last_ns);
	q->last_ns = now_ns;
	if (elapsed_ns < (u64)q->params[TCA_VCP_INTERVAL] * NSEC_PER_USEC)
		return;
	stats->capacity = router_rate(sch, q->capacity, q->params[TCA_VCP_RATE], q->start_ns,
				      now_ns);
	stats->input_rate = mul_u64_u64_div_u64(q->arrived, NSEC_PER_SEC, elapsed_ns);
	stats->queue_bytes = div64_u64(q->queue_ns, elapsed_ns);
	demand = q->arrived + mul_u64_u64_shr(stats->queue_bytes, q->params[TCA_VCP_KAPPA],
					      VCP_SHIFT);
	target = mul_u64_u64_div_u64(stats->capacity, elapsed_ns, NSEC_PER_SEC);
	target = mul_u64_u64_shr(target, q->params[TCA_VCP_GAMMA], VCP_SHIFT);
	/* A link without capacity has no load if nothing has come. */
	stats->load = demand ? min_t(u64, mul_u64_u64_div_u64(demand, VCP_ONE, max(target, 1ULL)),
				     U32_MAX) : 0;
	stats->code = code_of(stats->load);
	q->start_ns = now_ns;
	q->arrived = 0;
	q->queue_ns = 0;
}

/* ---- packets ---------------------------------------------------------- */

static void mark(struct vcp_sched *q, struct sk_buff *skb)
{
	const bool is_tcp = feedback_tcp_header(skb);
	const u8 before = is_tcp ? ip_ecn(skb) : VCP_NONE;
	const u8 code = max_t(u8, before, q->stats.code);

	q->stats.marked[before ? code : VCP_NONE]++;
	if (before && before != code &&
	    !skb_ensure_writable(skb, skb_network_offset(skb) + feedback_ip_bytes(skb)))
		ip_set_ecn(skb, code);
}

static int enqueue_packet(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct vcp_sched *q = qdisc_priv(sch);

	control(sch, ktime_get_ns());
	q->arrived += qdisc_pkt_len(skb);
	if (sch->q.qlen >= q->params[TCA_VCP_LIMIT])
		return qdisc_drop(skb, sch, to_free);
	return qdisc_enqueue_tail(skb, sch);
}

static int vcp_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	return qdisc_enqueue_segments(skb, sch, to_free, enqueue_packet);
}

static struct sk_buff *vcp_dequeue(struct Qdisc *sch)
{
	struct sk_buff *skb;

	control(sch, ktime_get_ns());
	skb = qdisc_dequeue_head(sch);
	if (skb)
		mark(qdisc_priv(sch), skb);
	return skb;
}

/* ---- options and statistics ------------------------------------------- */

static int vcp_change(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct vcp_sched *q = qdisc_priv(sch);
	u32 params[TCA_VCP_MAX + 1];
	int err;

	memcpy(params, q->params, sizeof(params));
	err = qdisc_options_parse(params, TCA_VCP_MAX, vcp_policy, options, extack);
	if (err < 0)
		return err;
	sch_tree_lock(sch);
	memcpy(q->params, params, sizeof(params));
	sch->limit = params[TCA_VCP_LIMIT];
	sch_tree_unlock(sch);
	return 0;
}

static int vcp_init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct vcp_sched *q = qdisc_priv(sch);

	q->capacity = symbol_get(ccbench_link_capacity);
	q->start_ns = ktime_get_ns();
	q->last_ns = q->start_ns;
	q->stats.code = VCP_LOW;
	memcpy(q->params, vcp_defaults, sizeof(q->params));
	sch->limit = q->params[TCA_VCP_LIMIT];
	return options ? vcp_change(sch, options, extack) : 0;
}

static void vcp_destroy(struct Qdisc *sch)
{
	struct vcp_sched *q = qdisc_priv(sch);

	if (q->capacity)
		symbol_put(ccbench_link_capacity);
}

static int vcp_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	const struct vcp_sched *q = qdisc_priv(sch);

	return qdisc_options_dump(skb, q->params, TCA_VCP_MAX);
}

static int vcp_dump_stats(struct Qdisc *sch, struct gnet_dump *dump)
{
	struct vcp_sched *q = qdisc_priv(sch);
	struct tc_vcp_xstats stats = q->stats;

	return gnet_stats_copy_app(dump, &stats, sizeof(stats));
}

static struct Qdisc_ops vcp_qdisc_ops __read_mostly = {
	.id		= "vcp",
	.priv_size	= sizeof(struct vcp_sched),
	.enqueue	= vcp_enqueue,
	.dequeue	= vcp_dequeue,
	.peek		= qdisc_peek_dequeued,
	.init		= vcp_init,
	.change		= vcp_change,
	.reset		= qdisc_reset_queue,
	.destroy	= vcp_destroy,
	.dump		= vcp_dump,
	.dump_stats	= vcp_dump_stats,
	.owner		= THIS_MODULE,
};

static int __init vcp_register(void)
{
	BUILD_BUG_ON(TCA_VCP_MAX > QDISC_MOST_OPTIONS);
	return register_qdisc(&vcp_qdisc_ops);
}

static void __exit vcp_unregister(void)
{
	unregister_qdisc(&vcp_qdisc_ops);
}

module_init(vcp_register);
module_exit(vcp_unregister);

MODULE_DESCRIPTION("VCP: router");
MODULE_LICENSE("GPL");
