// SPDX-License-Identifier: GPL-2.0
/*
 * The receiver: it tells the sender of each byte whether it came with an
 * accelerate or a brake.
 *
 * An ACK may be for several packets as long as their marks are alike. Where the
 * mark changes, what was still to be acknowledged is acknowledged at once, with
 * the old mark, and the packet that brought the new one too. This is DCTCP's
 * state machine (RFC 8257, section 3.2), with the usual two packets per ACK.
 *
 * The stack sets ECE on every ACK as long as it waits for a CWR. So that waiting
 * says which mark came last; a CWR that comes is none of its business.
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
		/* The packet in hand has not set a timer yet: what has is older. */
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
