/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The window of a sender with explicit congestion control where routers do not decide: Reno's,
 * until one has answered, and its reaction to losses.
 */
#ifndef _EXPLICIT_WINDOW_H
#define _EXPLICIT_WINDOW_H

#include <linux/math64.h>
#include <net/tcp.h>

/* Pacing at twice the window per RTT, which leaves the control to the window. */
#define EXPLICIT_PACING_GAIN	2

/* Flags of a connection with ECN; kernels with accurate ECN have one for each mode. */
#ifdef TCP_ECN_OK
#define EXPLICIT_ECN_MODES	TCP_ECN_OK
#else
#define EXPLICIT_ECN_MODES	TCP_ECN_MODE_ANY
#endif

/* Returns Reno's window after an ACK, in packets. */
static inline u32 explicit_reno_window(struct sock *sk, const struct rate_sample *rs, u32 window)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Recovery || rs->acked_sacked <= 0)
		return window;
	tcp_snd_cwnd_set(tp, window);
	tcp_reno_cong_avoid(sk, tp->snd_una, rs->acked_sacked);
	return tcp_snd_cwnd(tp);
}

/* Size of a connection's full packets in bytes, with all headers. */
static inline u32 explicit_packet_bytes(const struct tcp_sock *tp)
{
	const struct inet_connection_sock *icsk = &tp->inet_conn;

	return tp->mss_cache + tp->tcp_header_len + icsk->icsk_ext_hdr_len +
	       icsk->icsk_af_ops->net_header_len;
}

/* Spreads a window over a part of the RTT, which is the RTT divided by the gain. */
static inline void explicit_pace(struct sock *sk, u32 gain)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const u64 bytes = (u64)tp->mss_cache * tcp_snd_cwnd(tp) * gain;
	const u32 rtt_us = max(tp->srtt_us >> 3, 1U);

	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, div_u64(bytes * USEC_PER_SEC, rtt_us),
					     READ_ONCE(sk->sk_max_pacing_rate)));
}

#endif /* _EXPLICIT_WINDOW_H */
