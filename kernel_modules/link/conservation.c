// SPDX-License-Identifier: GPL-2.0
/*
 * Conservation of the packets in a queue: each one that enters a qdisc leaves it once, or is
 * dropped once, as the same packet with the same headers, and the qdisc's own length is that
 * of the queue. A qdisc that does otherwise gives wrong numbers, so the first such packet ends
 * the run.
 *
 * A bit for each packet tells whether it is in the queue. After the experiment, the queues are
 * emptied; packets that do not appear are lost.
 */
#include <linux/bitmap.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/sch_generic.h>

#include "ip_fields.h"
#include "link.h"

/* Number of packets whose presence is known: those that arrived last. A power of two. */
#define TRACKED		(1U << 20)

/* A link that has been idle for longer, while packets wait, has a qdisc that has stopped. */
#define LONGEST_PAUSE_NS	NSEC_PER_SEC
/* The same as a part of the experiment; a slow shaper may pause for long. */
#define LONGEST_PAUSE_PART	10

/* The same without a timer of the user's modules that ends it. */
#define LONGEST_UNARMED_NS	(100 * NSEC_PER_MSEC)

/* Pauses of a link that end with an arrival, and not by a timer, which are no coincidence. */
#define MANY_PAUSES	3

/* An odd number without a pattern in its bits. */
#define DIGEST_FACTOR	0x9e3779b97f4a7c15ULL
#define ECN_FACTOR	0x9e37

/* A queue may change the traffic class of packets, and with it the checksum of IPv4. */
#define IPV4_CLASS	htonl(0x00ff0000)	/* word 0 */
#define IPV4_CHECKSUM	htonl(0x0000ffff)	/* word 2 */
#define IPV6_CLASS	htonl(0x0ff00000)	/* word 0 */

/* Time at which the last timer that a user's modules have set ends, by ktime_get(). */
u64 ccbench_timers_end_ns;
EXPORT_SYMBOL(ccbench_timers_end_ns);

static char *rewriting = "";
module_param(rewriting, charp, 0);
MODULE_PARM_DESC(rewriting, "Qdiscs that change headers on purpose, separated by commas");

static uint longest[CCBENCH_MAX_BOTTLENECKS];
module_param_array(longest, uint, NULL, 0);
MODULE_PARM_DESC(longest, "Bytes in the longest queue of each bottleneck (0: any)");

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

/* Number of words of the headers of a packet, at most those that are in its linear part. */
static u32 header_words(const struct sk_buff *skb, bool is_ipv4)
{
	const struct iphdr *ip = (const struct iphdr *)skb->data;
	const u32 network = is_ipv4 ? ip->ihl : sizeof(struct ipv6hdr) / sizeof(u32);
	const u32 linear = skb_headlen(skb) / sizeof(u32);
	const u8 protocol = is_ipv4 ? ip->protocol : ((const struct ipv6hdr *)ip)->nexthdr;
	u32 transport = sizeof(struct udphdr) / sizeof(u32);

	if (protocol == IPPROTO_TCP && linear > network + 3)
		transport = ((const struct tcphdr *)((const u32 *)ip + network))->doff;
	return min(network + transport, linear);
}

/*
 * Digest of all that a queue must not change: headers without the traffic class, payload, and who
 * has their checksums. Sums of sums depend on the order.
 */
static noinline u16 digest_of_packet(const struct sk_buff *skb)
{
	const bool is_ipv4 = skb->protocol == htons(ETH_P_IP);
	const __be32 *word = (const __be32 *)skb->data;
	u64 sum = skb->ip_summed, sums = (__force u16)skb->protocol;
	u32 i, words;

	if (skb_headlen(skb) < sizeof(struct iphdr))
		return 0;
	words = header_words(skb, is_ipv4);
	for (i = 0; i < words; i++) {
		__be32 value = word[i];

		if (i == 0)
			value &= ~(is_ipv4 ? IPV4_CLASS : IPV6_CLASS);
		else if (i == 2 && is_ipv4)
			value &= ~IPV4_CHECKSUM;
		sum += (__force u32)value;
		sums += sum;
	}
	words *= sizeof(u32);
	sum += (__force u32)skb_checksum(skb, words, skb->len - words, 0);
	return (sums * DIGEST_FACTOR + sum) * DIGEST_FACTOR >> 48;
}

/* The mark, and the packet with an ECN field if the qdisc may be the user's. */
static u16 digest_of(const struct bottleneck *link, const struct sk_buff *skb, u8 ecn)
{
	if (likely(!link->compares_packets))
		return skb->mark;
	return skb->mark ^ digest_of_packet(skb) ^ ecn * ECN_FACTOR;
}

/* Whether packets are compared: Linux's own qdiscs do not change them. */
static bool compares_packets(const struct Qdisc_ops *ops)
{
	const size_t bytes = strlen(ops->id);
	const char *at;

	for (at = rewriting; *at; at = strchrnul(at, ',')) {
		at += *at == ',';
		if (!strncmp(at, ops->id, bytes) && (!at[bytes] || at[bytes] == ','))
			return false;
	}
	return ops->owner;
}

int conservation_create(struct bottleneck *link, u32 flows)
{
	link->flows = flows;
	link->longest_bytes = longest[link->index] ?: U32_MAX;
	link->present = kvcalloc(BITS_TO_LONGS(TRACKED), sizeof(long), GFP_KERNEL);
	return link->present ? 0 : -ENOMEM;
}

void conservation_enters(struct bottleneck *link, struct sk_buff *skb, u64 now)
{
	const u32 number = link->arrivals++;

	if (unlikely(!number))
		link->compares_packets = compares_packets(qdisc_of(link)->ops);
	*arrival_of(skb) = (struct arrival) {
		.time_ns = now,
		.number = number,
		.bytes = skb->len,
		.digest = digest_of(link, skb, ip_ecn(skb)),
	};
	link->waiting++;
	link->waiting_bytes += skb->len;
	if (unlikely(__test_and_set_bit(number % TRACKED, link->present)) && !link->overdue)
		link->overdue = number - TRACKED + 1;
	if (unlikely(link->waiting_bytes > link->longest_bytes))
		conservation_fail(link, skb, "it holds more packets than its limit (queue_packets), and another arrives");
}

/* A queue may mark an ECN-capable packet as CE, and not change the ECN field otherwise. */
static void check_content(const struct bottleneck *link, const struct sk_buff *skb, u16 digest)
{
	static const char * const names[] = { "Not-ECT", "ECT(1)", "ECT(0)", "CE" };
	const u8 now = ip_ecn(skb);
	char problem[128];
	u8 ecn;

	if (likely(digest == digest_of(link, skb, now)))
		return;
	for (ecn = 0; ecn <= INET_ECN_MASK; ecn++)
		if (digest == digest_of(link, skb, ecn))
			break;
	if (ecn > INET_ECN_MASK)
		conservation_fail(link, skb, "it has changed a header beyond the traffic class, the payload, skb->mark, skb->ip_summed, or the end of skb->cb");
	if (now == INET_ECN_CE && ecn != INET_ECN_NOT_ECT)
		return;
	snprintf(problem, sizeof(problem),
		 "it has changed the ECN field from %s to %s, and may only mark ECT as CE (RFC 3168)",
		 names[ecn], names[now]);
	conservation_fail(link, skb, problem);
}

void conservation_sent(const struct bottleneck *link, const struct sk_buff *skb)
{
	const struct arrival *arrival = arrival_of(skb);

	if (unlikely(arrival->bytes != (u16)skb->len))
		conservation_fail(link, skb, "it has changed the length, or the end of skb->cb");
	check_content(link, skb, arrival->digest);
	if (unlikely(link->compares_packets) && skb->protocol == htons(ETH_P_IP) &&
	    ip_fast_csum(skb->data, ((const struct iphdr *)skb->data)->ihl))
		conservation_fail(link, skb, "it has left the IP header with a wrong checksum");
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
	link->waiting_bytes -= skb->len;
}

void conservation_differs(const struct bottleneck *link, struct Qdisc *q,
			  const struct sk_buff *taken)
{
	const u32 packets = link->waiting - !!taken;
	const u32 bytes = link->waiting_bytes - (taken ? taken->len : 0);
	u32 qlen, backlog;

	/* conservation_sent() refuses a packet of another length next. */
	if (link->changing || (taken && arrival_of(taken)->bytes != (u16)taken->len))
		return;
	/* Some count per processor. */
	qdisc_qstats_qlen_backlog(q, &qlen, &backlog);
	if (qlen == packets && backlog == bytes)
		return;
	panic("ccbench: qdisc %s of bottleneck %u: at %llu ns, its qlen is %u packets and its backlog %u bytes, while %u packets of %u bytes wait in it, after packet number %u that %s\n",
	      q->ops->id, link->index, ccbench_now_ns(), qlen, backlog, packets, bytes,
	      taken ? arrival_of(taken)->number + 1 : link->arrivals, taken ? "left" : "arrived");
}

/* Packets that arrived before the queue was emptied, and are still in it. */
static u32 missing(const struct bottleneck *link)
{
	u32 number = link->arrivals > TRACKED ? link->arrivals - TRACKED : 0;
	u32 count = !!link->overdue;

	for (; number < link->emptied_at; number++)
		count += test_bit(number % TRACKED, link->present);
	return count;
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

void conservation_pauses(struct bottleneck *link)
{
	if (!link->pause_ns)
		link->pause_ns = ccbench_now_ns();
	/* The timers of Linux's own qdiscs are not known. */
	link->unarmed = qdisc_of(link)->ops->owner && ccbench_timers_end_ns < ktime_get_ns();
}

void conservation_wakes(struct bottleneck *link, const struct sk_buff *skb)
{
	if (!qdisc_of(link)->ops->owner || link->others_wake)
		link->woken_by_arrival++;
	else if (link->unarmed)
		conservation_fail(link, skb, "it sends a packet, which has waited while the link was idle, only when another arrives: its dequeue has returned NULL without a timer, such as qdisc_watchdog_schedule_ns()");
}

static void check_pause(const struct bottleneck *link)
{
	const u64 now = ccbench_now_ns();
	const bool is_stuck = link->unarmed && !link->others_wake;
	const u64 longest_ns = is_stuck ? LONGEST_UNARMED_NS :
		max(LONGEST_PAUSE_NS, link->end_ns / LONGEST_PAUSE_PART);

	if (link->woken_by_arrival >= MANY_PAUSES && link->woken_by_arrival > link->woken_by_timer)
		panic("ccbench: qdisc %s of bottleneck %u: it sends waiting packets over an idle link only when others arrive (%u times): its dequeue returns NULL without a timer, such as qdisc_watchdog_schedule_ns()\n",
		      qdisc_of(link)->ops->id, link->index, link->woken_by_arrival);

	if (link->waiting && link->pause_ns &&
	    now - link->pause_ns > longest_ns)
		panic("ccbench: qdisc %s of bottleneck %u: since %llu ns, it sends nothing over an idle link, while %u packets wait: the first is number %u of %u that arrived\n",
		      qdisc_of(link)->ops->id, link->index, link->pause_ns, link->waiting,
		      first_present(link), link->arrivals);
}

static void empty(struct bottleneck *link)
{
	struct Qdisc *q = qdisc_of(link);
	struct sk_buff *skb;
	u32 left;

	/* Half of them by dequeue, and the others by reset. */
	for (left = link->waiting / 2; left && (skb = bottleneck_dequeue(link)); left--)
		kfree_skb(skb);
	/* Freeing may be deferred, and packets may still arrive until then. */
	WRITE_ONCE(link->changing, true);
	link->emptied_at = link->arrivals;
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
		if (missing(&links[i]))
			panic("ccbench: qdisc %s of bottleneck %u: %u of %u packets have neither left it nor been freed: the first is number %u that arrived\n",
			      qdisc_of(&links[i])->ops->id, i, missing(&links[i]),
			      links[i].emptied_at, first_present(&links[i]));
}
