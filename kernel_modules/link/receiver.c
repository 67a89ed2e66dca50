// SPDX-License-Identifier: GPL-2.0
/*
 * ACKs of receivers that differ from Linux.
 *
 * The host of the receiver runs Linux; this file changes its ACKs when they leave it, before
 * the first bottleneck of their direction, so that a sender with any congestion control
 * meets them:
 *
 * - a limit of the receive window, which may change;
 * - one ACK for several packets (RFC 9293, section 3.8.6.3). Duplicate ACKs, those with SACK
 *   and the one that ends a gap are sent immediately (RFC 5681, section 4.2), and so is a
 *   change of the echo of ECN;
 * - ACK division and spoofing of duplicate ACKs (Savage, Cardwell, Wetherall and Anderson,
 *   "TCP congestion control with a misbehaving receiver", 1999); see also optimist.c;
 * - concealed congestion marks: packets that arrive with CE regain the ECN-capable codepoint
 *   that the sender used last, so that every echo, classic or accurate, denies the mark.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "ip_fields.h"
#include "link.h"
#include "segment.h"

struct receiver {
	const struct ccbench_receiver *spec;
	bool reverse;			/* data go to the sender of the path */
	struct optimist *optimist;	/* NULL: none */
	u32 window_bytes;		/* limit of the window; 0: none */
	u8 window_scale;
	bool has_edge;
	u32 edge;			/* furthest end of a window that was sent */
	u32 acked;			/* number of the last ACK that was sent */
	u8 ect;				/* last ECN-capable codepoint of the sender */
	/* With several packets per ACK. */
	struct sk_buff *held;		/* the last ACK, if it is still to be sent */
	u32 held_packets;		/* ACKs that it stands for */
	bool gap;			/* the last ACK reported a gap */
	struct path_event due;		/* of the held ACK */
};

struct receiver **receivers;
static u32 receiver_count;

/* ---- packets ---------------------------------------------------------- */

static u32 ack_of(const struct sk_buff *skb)
{
	return ntohl(tcp_hdr(skb)->ack_seq);
}

/* Returns a TCP option, or NULL. */
static const u8 *find_option(const struct sk_buff *skb, u8 kind)
{
	const u8 *option = (const u8 *)(tcp_hdr(skb) + 1);
	const u8 *end = (const u8 *)tcp_hdr(skb) + tcp_hdrlen(skb);

	while (option < end && *option != TCPOPT_EOL) {
		if (*option == TCPOPT_NOP) {
			option++;
			continue;
		}
		if (option + 1 == end || option[1] < 2 || option + option[1] > end)
			break;
		if (*option == kind)
			return option;
		option += option[1];
	}
	return NULL;
}

/* Whether the flags of two ACKs, such as those of ECN, differ. */
static bool flags_differ(const struct sk_buff *a, const struct sk_buff *b)
{
	const __be32 flags = htonl(0x0fff0000);

	return (tcp_flag_word(tcp_hdr(a)) ^ tcp_flag_word(tcp_hdr(b))) & flags;
}

/* ---- ACKs ------------------------------------------------------------- */

static void send_copy(const struct receiver *receiver, const struct sk_buff *skb, u32 ack)
{
	struct sk_buff *copy = skb_copy(skb, GFP_ATOMIC);

	/* A run without memory fails. */
	if (!copy)
		return;
	segment_renumber(copy, &tcp_hdr(copy)->ack_seq, ack);
	departure_observed(copy, !receiver->reverse);
}

/* Sends an ACK, in parts, and its duplicates. */
static void send_ack(struct receiver *receiver, struct sk_buff *skb)
{
	const struct ccbench_receiver *spec = receiver->spec;
	const u32 ack = ack_of(skb), last = receiver->acked;
	u32 i;

	if (after(ack, last)) {
		const u32 bytes = ack - last, parts = min(spec->ack_parts, bytes);

		for (i = 1; i < parts; i++)
			send_copy(receiver, skb, last + (u32)((u64)bytes * i / parts));
		receiver->acked = ack;
	}
	for (i = 0; i < spec->duplicate_acks; i++)
		send_copy(receiver, skb, ack);
	departure_observed(skb, !receiver->reverse);
}

/* Removes and returns the held ACK. */
static struct sk_buff *take_held(struct receiver *receiver)
{
	struct sk_buff *held = receiver->held;

	if (held)
		path_event_cancel(&receiver->due);
	receiver->held = NULL;
	receiver->held_packets = 0;
	return held;
}

static void held_is_due(struct path_event *event)
{
	struct receiver *receiver = container_of(event, struct receiver, due);
	struct sk_buff *held = receiver->held;

	receiver->held = NULL;
	receiver->held_packets = 0;
	rcu_read_lock_bh();
	send_ack(receiver, held);
	rcu_read_unlock_bh();
}

/* Holds an ACK until it stands for enough packets. The host acknowledges every packet. */
static void hold(struct receiver *receiver, struct sk_buff *skb)
{
	const struct ccbench_receiver *spec = receiver->spec;
	const bool gap = find_option(skb, TCPOPT_SACK), ends_gap = receiver->gap && !gap;
	const u32 last = receiver->held ? ack_of(receiver->held) : receiver->acked;

	receiver->gap = gap;
	if (receiver->held && flags_differ(receiver->held, skb))
		send_ack(receiver, take_held(receiver));
	if (gap || ends_gap || !after(ack_of(skb), last)) {
		kfree_skb(take_held(receiver));
		send_ack(receiver, skb);
		return;
	}
	if (receiver->held)
		consume_skb(receiver->held);
	else
		path_event_set(&receiver->due,
			       path_now_ns() + spec->ack_delay_us * NSEC_PER_USEC);
	receiver->held = skb;
	if (++receiver->held_packets == spec->packets_per_ack)
		send_ack(receiver, take_held(receiver));
}

/*
 * The window of a SYN-ACK is in bytes; later ones are in units of the scale that it sets. After
 * a lower limit, the end of the window remains until data have arrived, but for a part of a
 * unit: a receiver does not take back what it has offered (RFC 9293, section 3.8.6).
 */
static void limit_window(struct receiver *receiver, struct sk_buff *skb)
{
	struct tcphdr *th = tcp_hdr(skb);
	const __be16 old = th->window;
	u32 scale, end, window = ntohs(old);

	if (th->syn) {
		const u8 *option = find_option(skb, TCPOPT_WINDOW);

		receiver->window_scale = option ? option[2] : 0;
	}
	if (!th->ack)
		return;
	scale = th->syn ? 0 : receiver->window_scale;
	if (receiver->window_bytes) {
		u32 limit = max(receiver->window_bytes >> scale, 1U);

		if (receiver->has_edge && after(receiver->edge, ack_of(skb)))
			limit = max(limit, (receiver->edge - ack_of(skb)) >> scale);
		window = min(window, limit);
	}
	end = ack_of(skb) + (window << scale);
	if (!receiver->has_edge || after(end, receiver->edge))
		receiver->edge = end;
	receiver->has_edge = true;
	if (window == ntohs(old))
		return;
	th->window = htons(window);
	inet_proto_csum_replace2(&th->check, skb, old, th->window, false);
}

bool receiver_set_window(u32 flow, u32 window_bytes)
{
	if (flow >= receiver_count || !receivers[flow])
		return false;
	receivers[flow]->window_bytes = window_bytes;
	return true;
}

static void acknowledge(struct receiver *receiver, struct sk_buff *skb)
{
	if (receiver->spec->window_scale != CCBENCH_NO_SCALE)
		limit_window(receiver, skb);
	if (receiver->optimist) {
		optimist_acknowledge(receiver->optimist, skb);
	} else if (!segment_is_ack(skb)) {
		receiver->acked = ack_of(skb);
		kfree_skb(take_held(receiver));
		departure_observed(skb, !receiver->reverse);
	} else if (receiver->spec->packets_per_ack) {
		hold(receiver, skb);
	} else {
		send_ack(receiver, skb);
	}
}

/* ---- marks ------------------------------------------------------------ */

/* Retransmissions and ACKs that are not ECN-capable, and CE, do not tell the codepoint of others. */
static void learn_codepoint(struct receiver *receiver, const struct sk_buff *skb)
{
	const u8 ecn = ip_ecn(skb);

	if (ecn == INET_ECN_ECT_0 || ecn == INET_ECN_ECT_1)
		receiver->ect = ecn;
}

static void hide_mark(const struct receiver *receiver, struct sk_buff *skb)
{
	if (ip_ecn(skb) == INET_ECN_CE)
		ip_set_ecn(skb, receiver->ect);
}

/* ---- both ways -------------------------------------------------------- */

static struct receiver *receiver_of(const struct sk_buff *skb)
{
	const u32 flow = ccbench_flow(skb->mark);

	return flow < receiver_count && ip_is_tcp(skb) ? receivers[flow] : NULL;
}

void receiver_departure(struct sk_buff *skb, bool reverse)
{
	struct receiver *receiver = receiver_of(skb);

	if (receiver && receiver->reverse != reverse) {
		acknowledge(receiver, skb);
		return;
	}
	if (receiver) {
		learn_codepoint(receiver, skb);
		if (receiver->optimist)
			optimist_departure(receiver->optimist, skb);
	}
	departure_observed(skb, reverse);
}

bool receiver_arrival(struct sk_buff *skb, bool reverse)
{
	struct receiver *receiver = receiver_of(skb);

	if (!receiver || receiver->reverse != reverse)
		return true;
	if (receiver->spec->hides_ecn)
		hide_mark(receiver, skb);
	return !receiver->optimist || optimist_arrival(receiver->optimist, skb);
}

/* ---- setup ------------------------------------------------------------ */

static bool is_ordinary(const struct ccbench_receiver *spec)
{
	return spec->window_scale == CCBENCH_NO_SCALE && !spec->packets_per_ack &&
	       !spec->optimistic_bps && !spec->ack_parts && !spec->duplicate_acks &&
	       !spec->hides_ecn;
}

static struct receiver *create(const struct ccbench_receiver *spec, bool reverse)
{
	struct receiver *receiver = kzalloc(sizeof(*receiver), GFP_KERNEL);

	if (!receiver)
		return NULL;
	receiver->spec = spec;
	receiver->window_bytes = spec->window_bytes;
	receiver->reverse = reverse;
	path_event_init(&receiver->due, held_is_due);
	if (spec->optimistic_bps) {
		receiver->optimist = optimist_create(spec->optimistic_bps, reverse);
		if (!receiver->optimist)
			return NULL;
	}
	return receiver;
}

int ccbench_set_receivers(const struct ccbench_receiver *spec, bool reverse, u32 all_flows)
{
	u32 i;

	if (is_ordinary(spec))
		return 0;
	if (!receivers) {
		receivers = kvcalloc(all_flows, sizeof(*receivers), GFP_KERNEL);
		receiver_count = all_flows;
	}
	if (!receivers)
		return -ENOMEM;
	for (i = 0; i < spec->flows; i++) {
		struct receiver *receiver = create(spec, reverse);

		if (!receiver)
			return -ENOMEM;
		receivers[spec->first_flow + i] = receiver;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(ccbench_set_receivers);
