/* SPDX-License-Identifier: GPL-2.0 */
/* State of a flow, and the functions of each file. */
#ifndef _TCP_RAPID_H
#define _TCP_RAPID_H

#include <linux/rcupdate.h>
#include <linux/types.h>
#include <net/tcp.h>

#include "estimate.h"
#include "stream.h"

#define RAPID_SHARE_BITS	16

/* A packet of new data in flight. */
struct rapid_record {
	u32	seq;
	u32	sent_ns;	/* modulo 2^32 */
	u8	position;
	u8	packets;	/* of its stream */
	u16	stream;		/* number of the stream, modulo 2^16 */
};

struct rapid {
	struct rcu_head rcu;

	/* Sending. */
	u64	gap;		/* of r_avg, in units of 2^-8 ns */
	u64	stream_gap;	/* r_avg at the start of the stream */
	u64	due_ns;		/* send time of the next packet */
	u64	next_gap_ns;	/* gap after the next packet */
	u32	segs_out;	/* last tp->data_segs_out */
	u32	wait_seq;	/* slow start: end of the stream */
	u64	wait_ns;	/* slow start: latest end of the wait */
	u32	slow_lost;	/* tp->lost at the start of the stream */
	u16	stream;
	u16	gso_max_segs;	/* original value of the socket */
	u8	position;	/* of the next packet in its stream */
	u8	slow_shape;
	u8	slow_start : 1,
		waiting : 1,	/* for the ACKs of a stream in slow start */
		planned : 1;	/* records[tail] describes the next packet */
	const struct rapid_shape *shape;	/* of the stream being sent */

	/* Packets in flight, a ring. */
	struct rapid_record *records;
	u32	capacity;	/* a power of two */
	u32	head;		/* free-running: next packet to be acknowledged */
	u32	tail;		/* free-running: next packet to be sent */

	/* Acknowledged packets. */
	struct rapid_points points;
	u16	points_stream;
	u8	points_packets;
	u8	holes;		/* unacknowledged packets of that stream before acknowledged ones */
	u32	window_delivered;	/* tp->delivered at the start of the window of losses */
	u32	window_lost;
	u32	window_estimates;
	u32	share;		/* delivered share of packets in units of 2^-16 */
	u32	estimates;
	u64	estimate_gap;	/* latest estimate, without corrections */
};

/* NULL until the connection is established, because the ACK of the SYN precedes init. */
static inline struct rapid *rapid_of(const struct sock *sk)
{
	return READ_ONCE(*(struct rapid **)inet_csk_ca(sk));
}

static inline struct rapid_record *rapid_record(const struct rapid *rapid, u32 index)
{
	return &rapid->records[index & (rapid->capacity - 1)];
}

/* ---- rate.c: r_avg, the congestion window ---- */

u64 rapid_gap_of_kbps(const struct tcp_sock *tp, u32 kbps);
void rapid_set_gap(struct sock *sk, struct rapid *rapid, u64 gap);
/* Sets cwnd to twice the flight of r_avg, which limits only flows without ACKs. */
void rapid_set_cwnd(struct tcp_sock *tp, const struct rapid *rapid);

/* ---- shapes.c: streams of packets ---- */

void rapid_make_shapes(void);
/* Enters slow start with its shortest stream. */
void rapid_start_slowly(struct sock *sk, struct rapid *rapid, u64 gap);
/* Selects the next longer stream of slow start, if there is one. */
void rapid_lengthen(struct rapid *rapid);
void rapid_begin_stream(struct rapid *rapid);

/* ---- learn.c: evaluation of ACKs ---- */

/* A stream of slow start has been acknowledged or lost completely. */
void rapid_end_wait(struct sock *sk, struct rapid *rapid);
void rapid_sample(struct sock *sk, struct rapid *rapid, const struct rate_sample *rs);
void rapid_count_losses(struct sock *sk, struct rapid *rapid, const struct rate_sample *rs);

/* ---- send.c: send times of packets ---- */

/* Records the packet sent since the last call, which planned it. */
void rapid_note_sent(struct sock *sk, struct rapid *rapid);
/* Restores pacing status and GSO size, which qdiscs and new routes change. */
void rapid_take_pacing(struct sock *sk);
/* Called before TCP sends. */
void rapid_plan(struct sock *sk, struct rapid *rapid);

#endif /* _TCP_RAPID_H */
