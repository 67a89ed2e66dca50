// SPDX-License-Identifier: GPL-2.0
/*
 * The receiver echoes the mark of each byte to the sender, accelerate or brake.
 *
 * An ACK may cover several packets with the same mark. When the mark changes, the
 * pending packets are acknowledged immediately with the old mark, and so is the
 * packet with the new one. This is DCTCP's state machine (RFC 8257, section 3.2) with
 * the usual two packets per ACK.
 *
 * The stack sets ECE on every ACK until it receives a CWR. This flag represents the
 * last mark here, and received CWRs are irrelevant.
 */
#include "abc_compat.h"
#include "tcp_abc.h"

static void set_ece(struct tcp_sock *tp, bool brake)
{
	if (brake)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

void abc_echo(struct sock *sk, bool brake)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct abc *abc = abc_of(sk);

	if (brake != abc->echo) {
		/* The current packet has not set the timer yet, so earlier packets are pending. */
		if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
			set_ece(tp, abc->echo);
			abc_send_ack(sk, abc->echo_rcv_nxt);
		}
		icsk->icsk_ack.pending |= ICSK_ACK_NOW;
	}
	abc->echo = brake;
	abc->echo_rcv_nxt = tp->rcv_nxt;
	set_ece(tp, brake);
}
