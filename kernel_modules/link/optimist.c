// SPDX-License-Identifier: GPL-2.0
/*
 * Receivers that acknowledge data before they arrive: optimistic ACKs (Savage, Cardwell,
 * Wetherall and Anderson, 1999).
 *
 * From its first ACK on, the receiver acknowledges a segment at a time at a given rate, but
 * never data that the sender has not sent, which a sender would ignore: it always guesses
 * correctly. Nothing else causes ACKs, except data that are sent again.
 *
 * It denies losses. A sender does not repeat data that were acknowledged, so the receiver
 * goes on without them: lost bytes are cut out of the sequence numbers that its host sees.
 * Data that arrive later than their successors count as lost.
 */
#include <linux/math64.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "link.h"
#include "segment.h"

struct optimist {
	u64 rate_bps;
	bool reverse;
	struct sk_buff *ack;	/* copy of the last ACK of the host, for those in advance */
	/* Sequence numbers. */
	u32 sent;		/* end of the data that have left the sender */
	u32 expected;		/* end of the data that have arrived or are lost */
	u32 acked;
	u32 lost_bytes;		/* so far; modulo 2^32 */
	u32 segment_bytes;	/* payload of the longest packet, and its size */
	u32 packet_bytes;
	struct path_event due;	/* of the next segment's ACK */
	bool waiting;
	u64 next_ns;		/* earliest time of this ACK */
};

static void wait(struct optimist *optimist)
{
	if (optimist->waiting || !optimist->ack || !after(optimist->sent, optimist->acked))
		return;
	optimist->waiting = true;
	path_event_set(&optimist->due, max(path_now_ns(), optimist->next_ns));
}

static void send_ack(const struct optimist *optimist)
{
	struct sk_buff *skb = skb_copy(optimist->ack, GFP_ATOMIC);

	/* A run without memory fails. */
	if (!skb)
		return;
	segment_renumber(skb, &tcp_hdr(skb)->ack_seq, optimist->acked);
	departure_observed(skb, !optimist->reverse);
}

static void acknowledge_segment(struct path_event *event)
{
	struct optimist *optimist = container_of(event, struct optimist, due);
	const u32 bytes = min(optimist->segment_bytes, optimist->sent - optimist->acked);
	const u32 headers = optimist->packet_bytes - optimist->segment_bytes;

	optimist->waiting = false;
	optimist->acked += bytes;
	optimist->next_ns = path_now_ns() + div64_u64((u64)(bytes + headers) * BITS_PER_BYTE *
						      NSEC_PER_SEC, optimist->rate_bps);
	rcu_read_lock_bh();
	send_ack(optimist);
	rcu_read_unlock_bh();
	wait(optimist);
}

void optimist_departure(struct optimist *optimist, const struct sk_buff *skb)
{
	const u32 seq = ntohl(tcp_hdr(skb)->seq), bytes = segment_payload_bytes(skb);

	if (tcp_hdr(skb)->syn)
		optimist->sent = optimist->expected = optimist->acked = seq + 1;
	if (!bytes)
		return;
	if (after(seq + bytes, optimist->sent))
		optimist->sent = seq + bytes;
	if (bytes > optimist->segment_bytes) {
		optimist->segment_bytes = bytes;
		optimist->packet_bytes = skb->len;
	}
	wait(optimist);
}

bool optimist_arrival(struct optimist *optimist, struct sk_buff *skb)
{
	const struct tcphdr *th = tcp_hdr(skb);
	const u32 bytes = segment_payload_bytes(skb) + th->fin;
	u32 seq = ntohl(th->seq);

	if (th->syn)
		return true;
	if (bytes && before(seq, optimist->expected)) {
		/* Its ACK was lost. */
		if (optimist->ack && !after(seq + bytes, optimist->acked))
			send_ack(optimist);
		consume_skb(skb);
		return false;
	}
	if (bytes) {
		optimist->lost_bytes += seq - optimist->expected;
		optimist->expected = seq + bytes;
	} else if (after(seq, optimist->expected)) {
		seq = optimist->expected;
	}
	segment_renumber(skb, &tcp_hdr(skb)->seq, seq - optimist->lost_bytes);
	return true;
}

void optimist_acknowledge(struct optimist *optimist, struct sk_buff *skb)
{
	u32 ack = ntohl(tcp_hdr(skb)->ack_seq) + optimist->lost_bytes;

	if (segment_is_ack(skb)) {
		kfree_skb(optimist->ack);
		optimist->ack = skb;
		wait(optimist);
		return;
	}
	/* The start or the end of the connection. */
	if (tcp_hdr(skb)->ack)
		segment_renumber(skb, &tcp_hdr(skb)->ack_seq,
				  after(ack, optimist->acked) ? ack : optimist->acked);
	departure_observed(skb, !optimist->reverse);
}

struct optimist *optimist_create(u64 rate_bps, bool reverse)
{
	struct optimist *optimist = kzalloc(sizeof(*optimist), GFP_KERNEL);

	if (!optimist)
		return NULL;
	optimist->rate_bps = rate_bps;
	optimist->reverse = reverse;
	path_event_init(&optimist->due, acknowledge_segment);
	return optimist;
}
