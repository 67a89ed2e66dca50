// SPDX-License-Identifier: GPL-2.0
/*
 * A FIFO which does with every 50th packet what no qdisc may do.
 * For tests of what becomes of the run.
 */
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/tcp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/pkt_sched.h>

#include "ccbench_describe.h"

CCBENCH_QDISC(evil, 0, "", "FIFO that misbehaves");
CCBENCH_QDISC(evil_long, 1, "", "FIFO that ignores its limit");

#define EVERY	50

static char *deed = "none";
module_param(deed, charp, 0444);
MODULE_PARM_DESC(deed, "what it does");

static u32 arrivals;
static DEFINE_SPINLOCK(spinlock);

struct evil_queue {
	struct timer_list timer;
};

static void evil_late(struct timer_list *timer)
{
}

static bool does(const char *name)
{
	return !strcmp(deed, name);
}

/* Exchanges the headers of a packet and the last one in the queue. */
static void evil_swap(struct sk_buff *skb, struct sk_buff *other)
{
	u8 header[40];

	if (!other)
		return;
	memcpy(header, skb->data, sizeof(header));
	memcpy(skb->data, other->data, sizeof(header));
	memcpy(other->data, header, sizeof(header));
}

static int evil_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	if (sch->q.qlen >= 200)
		return qdisc_drop(skb, sch, to_free);
	if (++arrivals % EVERY)
		return qdisc_enqueue_tail(skb, sch);
	if (does("lose"))
		return NET_XMIT_SUCCESS;
	if (does("orphan")) {
		skb->destructor = NULL;
		kfree_skb(skb);
		return NET_XMIT_SUCCESS;
	}
	if (does("free")) {
		kfree_skb(skb);
		return NET_XMIT_DROP;
	}
	if (does("clone")) {
		struct sk_buff *copy = skb_clone(skb, GFP_ATOMIC);

		if (copy)
			qdisc_enqueue_tail(copy, sch);
	}
	if (does("replace")) {
		struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC);

		consume_skb(skb);
		return copy ? qdisc_enqueue_tail(copy, sch) : NET_XMIT_DROP;
	}
	if (does("refuse")) {
		qdisc_enqueue_tail(skb, sch);
		return NET_XMIT_DROP;
	}
	if (does("lock"))
		spin_lock(&spinlock);
	if (does("congestion"))
		ipv4_change_dsfield(ip_hdr(skb), 0xfc, INET_ECN_CE);
	if (does("codepoint"))
		ipv4_change_dsfield(ip_hdr(skb), 0xfc, INET_ECN_ECT_1);
	if (does("payload") && !skb_linearize(skb))
		skb->data[skb->len - 1] ^= 1;
	if (does("qlen"))
		sch->q.qlen++;
	if (does("backlog"))
		sch->qstats.backlog += 100;
	if (does("ttl"))
		ip_hdr(skb)->ttl--;
	if (does("sum"))
		ip_hdr(skb)->check++;
	if (does("window"))
		tcp_hdr(skb)->window = htons(1);
	if (does("option"))
		skb->data[sizeof(struct iphdr) + sizeof(struct tcphdr) + 8] ^= 1;
	if (does("summed"))
		skb->ip_summed = CHECKSUM_NONE;
	if (does("swap"))
		evil_swap(skb, sch->q.tail);
	if (does("trim"))
		pskb_trim(skb, skb->len - 20);
	if (does("mark"))
		skb->mark ^= 3;
	if (does("wild"))
		skb->mark = 12345;
	if (does("clear"))
		memset(skb->cb, 0, sizeof(skb->cb));
	if (does("stamp"))
		*(u64 *)(skb->cb + 32) += NSEC_PER_SEC;
	return qdisc_enqueue_tail(skb, sch);
}

static struct sk_buff *evil_dequeue(struct Qdisc *sch)
{
	if (does("hold") && arrivals > EVERY)
		return NULL;
	if (does("pairs") && arrivals % 2)
		return NULL;
	if (does("once") && arrivals == EVERY)
		return NULL;
	if (does("uncounted") && arrivals > EVERY && sch->q.head && sch->q.head->next) {
		struct sk_buff *skb = __qdisc_dequeue_head(&sch->q);

		sch->q.qlen++;
		kfree_skb(skb);
	}
	return qdisc_dequeue_head(sch);
}

static void evil_reset(struct Qdisc *sch)
{
	if (does("crash"))
		*(volatile int *)8 = 1;
	if (does("leak"))
		sch->q.qlen = 0;
	else
		qdisc_reset_queue(sch);
}

static void evil_destroy(struct Qdisc *sch)
{
	if (does("destroy"))
		*(volatile int *)8 = 1;
}

static int evil_init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct evil_queue *q = qdisc_priv(sch);

	arrivals = 0;
	timer_setup(&q->timer, evil_late, 0);
	if (does("timer"))
		mod_timer(&q->timer, jiffies + 1000 * HZ);
	return does("memory") ? -ENOMEM : 0;
}

static struct Qdisc_ops evil_qdisc_ops __read_mostly = {
	.id		= "evil",
	.priv_size	= sizeof(struct evil_queue),
	.enqueue	= evil_enqueue,
	.dequeue	= evil_dequeue,
	.peek		= qdisc_peek_head,
	.init		= evil_init,
	.reset		= evil_reset,
	.destroy	= evil_destroy,
	.owner		= THIS_MODULE,
};

static struct Qdisc_ops evil_long_qdisc_ops __read_mostly = {
	.id		= "evil_long",
	.priv_size	= sizeof(struct evil_queue),
	.enqueue	= evil_enqueue,
	.dequeue	= evil_dequeue,
	.peek		= qdisc_peek_head,
	.init		= evil_init,
	.reset		= evil_reset,
	.destroy	= evil_destroy,
	.owner		= THIS_MODULE,
};

static int __init evil_register(void)
{
	if (does("register"))
		return -EIO;
	return register_qdisc(&evil_qdisc_ops) ?: register_qdisc(&evil_long_qdisc_ops);
}
module_init(evil_register);

static void __exit evil_unregister(void)
{
	unregister_qdisc(&evil_long_qdisc_ops);
	unregister_qdisc(&evil_qdisc_ops);
}
module_exit(evil_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("What no qdisc should do");
