// SPDX-License-Identifier: GPL-2.0
/*
 * A FIFO with a random early mark: the longer the queue, the likelier a mark.
 *
 * Up to min_packets nothing is marked. From there the probability rises in
 * proportion to the queue; it is 1 from max_packets on.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/inet_ecn.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#include "ccbench_describe.h"

/* Macros rather than enumerators, as the description needs their values. */
#define TCA_RAMP_LIMIT		1
#define TCA_RAMP_MIN		2
#define TCA_RAMP_MAX		3
#define TCA_RAMP_PROBABILITY	4	/* 2^-16 */
#define TCA_RAMP_LAST		TCA_RAMP_PROBABILITY

#define RAMP_ONE		65536

CCBENCH_QDISC(ramp, TCA_RAMP_LIMIT, QDISC_MARKS,
	      "FIFO with a random early mark, the likelier the longer the queue");
CCBENCH_OPTION(ramp, min_packets, TCA_RAMP_MIN,
	       OPTION_UNIT(packets, 1) OPTION_DEFAULT(10),
	       "longest queue without marks");
CCBENCH_OPTION(ramp, max_packets, TCA_RAMP_MAX,
	       OPTION_UNIT(packets, 1) OPTION_DEFAULT(100),
	       "queue from which every packet is marked");
CCBENCH_OPTION(ramp, probability, TCA_RAMP_PROBABILITY,
	       OPTION_SCALE(RAMP_ONE) OPTION_RANGE(0, 1) OPTION_DEFAULT(0.1),
	       "probability of a mark just below max_packets");

struct ramp_sched {
	u32 min;
	u32 max;
	u32 probability;
};

static const struct nla_policy ramp_policy[TCA_RAMP_LAST + 1] = {
	[TCA_RAMP_LIMIT]	= { .type = NLA_U32 },
	[TCA_RAMP_MIN]		= { .type = NLA_U32 },
	[TCA_RAMP_MAX]		= { .type = NLA_U32 },
	[TCA_RAMP_PROBABILITY]	= { .type = NLA_U32 },
};

static bool ramp_marks(const struct ramp_sched *q, u32 waiting)
{
	u64 probability;

	if (waiting <= q->min)
		return false;
	if (waiting >= q->max)
		return true;
	probability = div_u64((u64)q->probability * (waiting - q->min), q->max - q->min);
	return get_random_u32() % RAMP_ONE < probability;
}

static int ramp_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (sch->q.qlen >= sch->limit)
		return qdisc_drop(skb, sch, to_free);
	if (ramp_marks(qdisc_priv(sch), sch->q.qlen))
		INET_ECN_set_ce(skb);
	return qdisc_enqueue_tail(skb, sch);
}

static int ramp_change(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct nlattr *given[TCA_RAMP_LAST + 1];
	struct ramp_sched *q = qdisc_priv(sch);
	struct ramp_sched new = *q;
	int err;

	err = nla_parse_nested(given, TCA_RAMP_LAST, options, ramp_policy, extack);
	if (err < 0)
		return err;
	if (given[TCA_RAMP_MIN])
		new.min = nla_get_u32(given[TCA_RAMP_MIN]);
	if (given[TCA_RAMP_MAX])
		new.max = nla_get_u32(given[TCA_RAMP_MAX]);
	if (given[TCA_RAMP_PROBABILITY])
		new.probability = nla_get_u32(given[TCA_RAMP_PROBABILITY]);
	if (new.min >= new.max || new.probability > RAMP_ONE)
		return -EINVAL;

	sch_tree_lock(sch);
	*q = new;
	if (given[TCA_RAMP_LIMIT])
		sch->limit = nla_get_u32(given[TCA_RAMP_LIMIT]);
	sch_tree_unlock(sch);
	return 0;
}

static int ramp_init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct ramp_sched *q = qdisc_priv(sch);

	q->min = 10;
	q->max = 100;
	q->probability = RAMP_ONE / 10;
	sch->limit = qdisc_dev(sch)->tx_queue_len;
	return options ? ramp_change(sch, options, extack) : 0;
}

static struct Qdisc_ops ramp_qdisc_ops __read_mostly = {
	.id		= "ramp",
	.priv_size	= sizeof(struct ramp_sched),
	.enqueue	= ramp_enqueue,
	.dequeue	= qdisc_dequeue_head,
	.peek		= qdisc_peek_head,
	.init		= ramp_init,
	.change		= ramp_change,
	.reset		= qdisc_reset_queue,
	.owner		= THIS_MODULE,
};

static int __init ramp_register(void)
{
	return register_qdisc(&ramp_qdisc_ops);
}

static void __exit ramp_unregister(void)
{
	unregister_qdisc(&ramp_qdisc_ops);
}

module_init(ramp_register);
module_exit(ramp_unregister);

MODULE_DESCRIPTION("FIFO with a random early mark");
MODULE_LICENSE("GPL");
