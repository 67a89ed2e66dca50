/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _TCP_ABC_H
#define _TCP_ABC_H

#include <net/tcp.h>

#include "abc_compat.h"
#include "cubic_window.h"

/* The first fields of struct tcp_abc_info, for CCBENCH_CCA. */
#define ABC_INFO	CCA_INFO("w_abc|w_nonabc|accelerated|braked")

/* Windows are in units of 2^-16 packets. */
#define ABC_SHIFT		CUBIC_SHIFT
#define ABC_PACKET		CUBIC_PACKET

/* Of every socket, at either end. */
struct abc {
	u64 window;		/* for ABC routers */
	struct cubic_window cubic;	/* for bottlenecks that are no ABC routers */
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
CONG_CONTROL(abc_cong_control, sk, rs);
void abc_set_state(struct sock *sk, u8 new_state);
u32 abc_undo_cwnd(struct sock *sk);
u32 abc_ssthresh(struct sock *sk);
size_t abc_get_info(struct sock *sk, u32 extensions, int *attribute, union tcp_cc_info *info);

/* ---- echo.c ---- */

void abc_echo(struct sock *sk, bool brake);

#endif /* _TCP_ABC_H */
