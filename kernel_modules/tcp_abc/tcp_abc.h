/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TCP_ABC_H
#define _TCP_ABC_H

#include <net/tcp.h>

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
	bool congested;		/* a router that knows nothing of ABC has marked a packet */
};

static inline struct abc *abc_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

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
