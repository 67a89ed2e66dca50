/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PRAGUE_H
#define _PRAGUE_H

#include <linux/bits.h>
#include <net/tcp.h>

/* Windows are in units of 2^-16 packets. */
#define PRAGUE_SHIFT		16
#define PRAGUE_PACKET		BIT_ULL(PRAGUE_SHIFT)
/* Below a packet, pacing sends less than one packet per round trip. */
#define PRAGUE_MIN_WINDOW	(PRAGUE_PACKET / 8)

/* Fractions of marked packets are in units of 2^-24. */
#define PRAGUE_ALPHA_SHIFT	24
#define PRAGUE_ALPHA_ONE	BIT(PRAGUE_ALPHA_SHIFT)

/* The share of the classic response is in units of 2^-8. */
#define PRAGUE_CLASSIC_SHIFT	8
#define PRAGUE_CLASSIC_ONE	BIT(PRAGUE_CLASSIC_SHIFT)

/* State of a socket. Times are the lower bits of tp->tcp_mstamp, in us. */
struct prague {
	u64 window;
	u64 ssthresh;
	u64 undo_window;	/* before the last reduction after a loss */
	u64 undo_ssthresh;
	u64 ce_window;		/* before the last reduction after a mark */
	u64 rtt_mean;		/* 2^-20 us; 0: no sample yet */
	u64 rtt_deviation;	/* likewise */
	u32 alpha;		/* moving average of the fraction of marked packets */
	u32 ce;			/* marked packets at the last ACK */
	u32 round_us;		/* start of the round in which marks are counted */
	u32 round_delivered;	/* packets and marked packets at that time */
	u32 round_ce;
	u32 reduced_us;		/* last reduction */
	u32 reductions;		/* after marks */
	u16 gso_max_segs;	/* of the route, which limits bursts more */
	u16 classic_score;	/* evidence of a classic AQM */
	u8 accecn : 1,		/* the receiver reports the number of marks */
	   marked : 1,		/* there has been a mark */
	   lossy : 1;		/* there has been a loss since the last mark */
};

static inline struct prague *prague_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static inline bool prague_in_slow_start(const struct prague *prague)
{
	return prague->window < prague->ssthresh;
}

static inline u32 prague_rtt_us(const struct tcp_sock *tp)
{
	return max(tp->srtt_us >> 3, 1U);
}

/* ---- main.c ---- */

extern struct tcp_congestion_ops prague_ops;

/* ---- window.c ---- */

u32 prague_virtual_rtt_us(const struct sock *sk);
void prague_grow(struct sock *sk, u32 acked, u32 in_flight);
void prague_reduce_for_mark(struct sock *sk);
void prague_reduce_for_loss(struct sock *sk);
void prague_timeout(struct sock *sk);
void prague_undo(struct sock *sk);

/* ---- classic.c ---- */

void prague_classic_sample(struct prague *prague, u32 rtt_us);
void prague_classic_round(const struct tcp_sock *tp, struct prague *prague);
u32 prague_classic_share(const struct prague *prague);
u32 prague_classic_response(const struct prague *prague);

/* ---- ect1.c ---- */

int prague_ect1_register(void);
void prague_ect1_unregister(void);

#endif /* _PRAGUE_H */
