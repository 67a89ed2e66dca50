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

/* State of a socket at either end. */
struct abc {
	u64 window;		/* w_abc */
	struct cubic_window cubic;	/* w_nonabc */
	u32 bytes_acked;	/* at the last ACK */
	u32 accelerated;	/* packets, since the start of the connection */
	u32 braked;
	union {
		u32 echo_rcv_nxt;	/* receiver: rcv_nxt at the last echoed mark */
		u32 braked_bytes;	/* echo by accurate ECN (accecn.c): at the last ACK */
	};
	u32 marked_bytes;	/* the same, accelerated or braked */
	u8 increase;		/* additive, in packets per RTT */
	bool ecn;		/* both ends take part */
	bool sacked;		/* a packet was selectively acknowledged at the last ACK */
	bool brake;		/* mark echoed by the last ACK */
	bool echo;		/* receiver: mark of the last packet */

	/* Full encoding (ns.c): congestion marks of routers without ABC. */
	bool congested;		/* the receiver reports a mark */
	bool reduced;		/* the next packet carries CWR */
	bool tell_congested;	/* receiver: report a mark until CWR arrives */
	u32 reduced_until;	/* no further reduction before this sequence number */
};

static inline struct abc *abc_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* ---- main.c ---- */

void abc_init(struct sock *sk);
/* Answers an ACK; a share of the delivered packets, in units of ABC_PACKET, was braked. */
void abc_control(struct sock *sk, const struct rate_sample *rs, u32 braked_share);
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
