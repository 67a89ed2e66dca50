/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Packet conservation in fast recovery (RFC 9937, which obsoletes RFC 6937), for congestion
 * controls with cong_control, which replaces Linux's proportional rate reduction.
 *
 * Lost packets leave the flight. A window that is reduced once per recovery would replace all
 * of them at once, and again whenever retransmissions are lost: a window per RTT, whatever
 * the path delivers. In recovery, an ACK therefore releases at most
 *
 *	max(prr_delivered - prr_out, newly delivered packets)
 *
 * packets, and one more if it advances without another loss. prr_delivered and prr_out are the
 * packets that were delivered and sent since the start of recovery. Linux counts prr_out, and
 * with cong_control leaves prr_delivered to the module.
 *
 * The rule has no effect until losses have emptied more of the flight than the reduction of
 * the window. The other part of RFC 9937, which spreads that reduction over a round trip, is
 * not included: a window below the flight sends nothing until the flight fits. What the rule
 * then allows is the same, because whenever the packets are sent,
 *
 *	prr_delivered - prr_out = flight at the start - lost - flight
 *
 * The RFC assumes that the flight fills the window. A congestion control whose rate also
 * varies during recoveries, as few losses are no signal, allows a number of spare packets.
 * They count as delivered, so that losses first use them up.
 */
#ifndef _RECOVERY_H
#define _RECOVERY_H

#include <linux/minmax.h>
#include <net/tcp.h>

/* Returns true if the newest packet that the ACK delivers advances it, and none is lost. */
static inline bool recovery_advances(const struct tcp_sock *tp, const struct rate_sample *rs)
{
	return rs->prior_mstamp && !rs->losses && !after(rs->last_end_seq, tp->snd_una);
}

/*
 * Returns the congestion window for the window of a congestion control, in packets: the same
 * outside of recovery. To be called once per ACK, from cong_control; spare is usually 0.
 */
static inline u32 recovery_window(struct sock *sk, const struct rate_sample *rs, u32 window,
				  u32 spare)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight = tcp_packets_in_flight(tp);
	s32 released;

	if (!tcp_in_cwnd_reduction(sk))
		return window;
	if (!tp->prr_delivered)
		tp->prr_delivered = spare;
	tp->prr_delivered += rs->acked_sacked;
	if (inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		return window;
	released = max_t(s32, tp->prr_delivered - tp->prr_out, rs->acked_sacked);
	window = min(window, in_flight + released + recovery_advances(tp, rs));
	/* Always allow a retransmission if there is none, as the RFC allows the first. */
	if (tp->lost_out && !tp->retrans_out)
		window = max(window, in_flight + 1);
	return window;
}

#endif /* _RECOVERY_H */
