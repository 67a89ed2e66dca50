/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TCP_ABC_H
#define _TCP_ABC_H

#include <net/tcp.h>

#include "abc_compat.h"

/* Windows are in units of 2^-16 packets. */
#define ABC_SHIFT		16
#define ABC_PACKET		BIT_ULL(ABC_SHIFT)

/* The window for bottlenecks that are no ABC routers (cubic.c). */
struct abc_cubic {
	u64 window;
	u64 ssthresh;
	u64 w_max;		/* the window at the last reduction */
	u64 w_est;		/* what Reno would have since */
	u64 undo_window;	/* before the last reduction */
	u64 undo_ssthresh;
	u32 epoch_ms;		/* when growth began after the last reduction */
	u32 k_ms;		/* from then until the window is w_max again */
	bool growing;		/* epoch_ms and k_ms are set */
};

/* Of every socket, at either end. */
struct abc {
	u64 window;		/* for ABC routers */
	struct abc_cubic cubic;
	u64 bytes_acked;	/* at the last ACK */
	u32 accelerated;	/* packets, over the socket's life */
	u32 braked;
	u32 echo_rcv_nxt;	/* the receiver's: what the last echoed mark came with */
	u8 increase;		/* additive, in packets per RTT */
	bool ecn;		/* both ends take part */
	bool sacked;		/* some packet waited for one before it at the last ACK */
	bool brake;		/* the mark that the ACK in hand echoes */
	bool echo;		/* the receiver's: the last packet's mark was a brake */

	/* With the full encoding (ns.c): about routers that know nothing of ABC. */
	bool congested;		/* the receiver says that one has marked a packet */
	bool reduced;		/* the receiver has to be told that this was heeded */
	bool tell_congested;	/* the receiver's: says so until then */
	u32 reduced_until;	/* what has been sent is no reason to reduce again */
};

static inline struct abc *abc_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* ---- main.c ---- */

void abc_init(struct sock *sk);
void abc_in_ack_event(struct sock *sk, u32 flags);
void abc_cwnd_event(struct sock *sk, enum tcp_ca_event event);
ABC_CONG_CONTROL(abc_cong_control, sk, rs);
void abc_set_state(struct sock *sk, u8 new_state);
u32 abc_undo_cwnd(struct sock *sk);
u32 abc_ssthresh(struct sock *sk);
size_t abc_get_info(struct sock *sk, u32 extensions, int *attribute, union tcp_cc_info *info);

/* ---- cubic.c ---- */

void abc_cubic_init(struct abc_cubic *c, u32 packets);
/* Packets were delivered, in units of 2^-16; no more than `cap` is of use. */
void abc_cubic_grow(struct abc_cubic *c, u64 delivered, u64 cap, u32 now_ms, u32 rtt_ms);
void abc_cubic_reduce(struct abc_cubic *c);
void abc_cubic_timeout(struct abc_cubic *c, bool reduce);
void abc_cubic_undo(struct abc_cubic *c);

/* ---- echo.c ---- */

void abc_echo(struct sock *sk, bool brake);

#endif /* _TCP_ABC_H */
