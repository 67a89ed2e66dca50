/* SPDX-License-Identifier: GPL-2.0 */
/* The state of one flow, and what the parts of the module do with it. */
#ifndef _TCP_RAPID_H
#define _TCP_RAPID_H

#include <linux/rcupdate.h>
#include <linux/types.h>
#include <net/tcp.h>

#include "estimate.h"
#include "stream.h"

#define RAPID_SHARE_BITS	16

/* A packet of new data that was sent. */
struct rapid_record {
	u32	seq;
	u32	sent_ns;	/* modulo 2^32 */
	u8	position;
	u8	packets;	/* of its stream */
	u16	stream;		/* its number, modulo 2^16 */
};

struct rapid {
	struct rcu_head rcu;

	/* What is being sent. */
	u64	gap;		/* of r_avg, in units of 2^-8 ns */
	u64	stream_gap;	/* r_avg when the stream began */
	u64	due_ns;		/* when the next packet may leave */
	u64	next_gap_ns;	/* after the packet that may leave now */
	u32	segs_out;	/* tp->data_segs_out when last looked at */
	u32	wait_seq;	/* slow start: the stream ends before this */
	u64	wait_ns;	/* and is not waited for longer than until then */
	u32	slow_lost;	/* tp->lost when it began */
	u16	stream;
	u16	gso_max_segs;	/* the socket's, before it was ours */
	u8	position;	/* of the next packet in its stream */
	u8	slow_shape;
	u8	slow_start : 1,
		waiting : 1,	/* for the ACKs of a whole stream of slow start */
		planned : 1;	/* the record behind the last one is of the next packet */
	const struct rapid_shape *shape;	/* of the stream being sent */

	/* Packets in flight, a ring. */
	struct rapid_record *records;
	u32	capacity;	/* a power of two */
	u32	head;		/* runs on: the next to be acknowledged */
	u32	tail;		/* the one that is planned or will be */

	/* What has been acknowledged. */
	struct rapid_points points;
	u16	points_stream;
	u8	points_packets;
	u8	holes;		/* packets of that stream that were passed over */
	u32	window_delivered;	/* tp->delivered at the start of the window of losses */
	u32	window_lost;
	u32	window_estimates;
	u32	share;		/* of the packets that arrive, in units of 2^-16 */
	u32	estimates;
	u64	estimate_gap;	/* the latest, before anything is taken off */
};

/* NULL until the connection is established: the ACK of the SYN comes before. */
static inline struct rapid *rapid_of(const struct sock *sk)
{
	return READ_ONCE(*(struct rapid **)inet_csk_ca(sk));
}

static inline struct rapid_record *rapid_record(const struct rapid *rapid, u32 index)
{
	return &rapid->records[index & (rapid->capacity - 1)];
}

/* ---- rate.c: r_avg, the congestion window ---- */

/* Bytes of a full packet on the wire, as rates count them. */
u32 rapid_packet_bytes(const struct tcp_sock *tp);
u64 rapid_gap_of_kbps(const struct tcp_sock *tp, u32 kbps);
void rapid_set_gap(struct sock *sk, struct rapid *rapid, u64 gap);
/* Twice what r_avg has in flight: a limit where ACKs fail to come, and no more. */
void rapid_set_cwnd(struct tcp_sock *tp, const struct rapid *rapid);

/* ---- send.c: when which packet leaves ---- */

void rapid_make_shapes(void);
/* From the shortest stream of slow start on. */
void rapid_start_slowly(struct sock *sk, struct rapid *rapid, u64 gap);
/* A longer one, if there is one. */
void rapid_lengthen(struct rapid *rapid);
void rapid_begin_stream(struct rapid *rapid);
/* What has left since the last look, which planned it. */
void rapid_note_sent(struct sock *sk, struct rapid *rapid);
/* A qdisc that wants to pace may have changed the one, a new route the other. */
void rapid_take_pacing(struct sock *sk);
/* TCP is about to send, if it may. */
void rapid_plan(struct sock *sk, struct rapid *rapid);

/* ---- learn.c: what ACKs tell ---- */

/* All of a stream of slow start has been acknowledged, or is lost. */
void rapid_end_wait(struct sock *sk, struct rapid *rapid);
void rapid_sample(struct sock *sk, struct rapid *rapid, const struct rate_sample *rs);
void rapid_count_losses(struct sock *sk, struct rapid *rapid, const struct rate_sample *rs);

#endif /* _TCP_RAPID_H */
