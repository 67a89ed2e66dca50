// SPDX-License-Identifier: GPL-2.0
/*
 * The hosts of XCP (Katabi, Handley and Rohrs, "Congestion Control for High Bandwidth-Delay
 * Product Networks", SIGCOMM 2002), with the header of draft-falk-xcp-spec-03.
 *
 * Each packet states the sender's RTT, the time between its packets, and the change of its rate
 * that it wishes. Routers lower the change to what they grant. The receiver sums the changes and
 * echoes them, and the sender applies them to its window:
 *
 *	w += change * RTT,	w >= 2 packets
 *
 * A flow with more data than its window wishes as much as possible, another one no increase.
 *
 * After an outage of seconds, packets have RTTs of seconds, and the rate of the link times such
 * an RTT is a window of many BDPs. A parameter limits the RTT of both formulas to a multiple of
 * the shortest one; by default it is TCP's smoothed RTT, as published.
 *
 * Deviations:
 *
 * 1. The header is a TCP option (feedback_option.h) instead of a header between IP and TCP, with
 *    the time between packets in ns, and changes in bytes per second. A bit states that a router
 *    has answered.
 * 2. The window is at least two packets, as a receiver delays ACKs.
 * 3. Until a router has answered, and with a receiver without this module, the sender is Reno.
 *    If no router of the path answers, this remains so.
 * 4. As in the paper, a loss halves the window, and a timeout reduces it to the least; in
 *    recovery, packets are conserved (RFC 9937, recovery.h). The draft leaves losses to TCP.
 * 5. A change of the rate is one of the window by the RTT at the arrival of the echo. The draft does so, too;
 *    the paper's routers compute changes of the window.
 * 6. Packets are paced at twice the window per RTT. Without pacing, ACKs that wait behind the
 *    data of the other direction arrive in bursts, and so do the packets that they release: the
 *    queue varies by the BDP, and is empty once per RTT, so that it does not count as persistent.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>

#include "bounded_param.h"
#include "cca_compat.h"
#include "ccbench_describe.h"
#include "explicit_window.h"
#include "feedback_hooks.h"
#include "pkt_xcp.h"
#include "recovery.h"

#define XCP_SHIFT	16	/* windows are in units of 2^-16 packets */
#define XCP_ONE		(1ULL << XCP_SHIFT)
#define XCP_MIN_WINDOW	(2 * XCP_ONE)
#define XCP_MAX_WINDOW	(1ULL << (30 + XCP_SHIFT))

/* The largest request: 17 Gbit/s more with each packet. */
#define XCP_MOST	S32_MAX

static unsigned int most_rtts;

BOUNDED_PARAM(most_rtts, most_rtts, 0, 1000, 0644,
	      "limit of the RTT in multiples of the shortest one; 0: none");

struct xcp {
	u64	window;
	s32	granted;	/* change of the rate in echoes since the last ACK, bytes per second */
	s32	last;		/* the last change */
	u32	echoes;		/* number of echoes */
	s32	received;	/* receiver: changes since the last echo */
	bool	pending;	/* receiver: there are any */
	bool	answered;	/* a router controls the flow */
};

static struct xcp *xcp_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static u32 xcp_rtt_us(const struct tcp_sock *tp)
{
	const u64 most = (u64)READ_ONCE(most_rtts) * tcp_min_rtt(tp);
	const u32 rtt_us = tp->srtt_us >> 3;

	return most ? min_t(u64, rtt_us, most) : rtt_us;
}

static s32 xcp_sum(s32 a, s32 b)
{
	return clamp_t(s64, (s64)a + b, -XCP_MOST, XCP_MOST);
}

/* ---- headers ---------------------------------------------------------- */

/* Returns true if the application has more to send than this packet. */
static bool xcp_wishes_more(const struct sock *sk, const struct sk_buff *skb,
			    const struct tcphdr *th, unsigned int headers)
{
	return after(READ_ONCE(tcp_sk(sk)->write_seq), ntohl(th->seq) + skb->len - headers);
}

static void feedback_out(struct sock *sk, struct sk_buff *skb, const struct tcphdr *th)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct xcp *xcp = xcp_of(sk);
	const u32 echo = xcp->pending ? (u32)xcp->received : XCP_NO_ECHO;
	const u32 rtt_us = xcp_rtt_us(tp);
	u32 values[XCP_WORDS];
	bool added;

	if (feedback_is_data(skb, th)) {
		const unsigned int headers = feedback_ip_bytes(skb) + __tcp_hdrlen(th);
		const u64 spacing = div64_u64(((u64)rtt_us * NSEC_PER_USEC) << XCP_SHIFT,
					      max(xcp->window, XCP_MIN_WINDOW));

		values[XCP_RTT] = min_t(u32, rtt_us, XCP_ANSWERED - 1);
		values[XCP_SPACING] = min_t(u64, spacing, U32_MAX);
		values[XCP_DELTA] = xcp_wishes_more(sk, skb, th, headers) ? XCP_MOST : 0;
		values[XCP_ECHO] = echo;
		added = feedback_add(skb, FEEDBACK_XCP, values, XCP_WORDS);
	} else {
		added = xcp->pending && feedback_add(skb, FEEDBACK_XCP, &echo, XCP_ACK_WORDS);
	}
	if (added && xcp->pending) {
		xcp->received = 0;
		xcp->pending = false;
	}
}

static void feedback_in(struct sock *sk, struct sk_buff *skb, struct tcphdr *th)
{
	struct xcp *xcp = xcp_of(sk);
	unsigned int words;
	const __be32 *word = feedback_find(th, FEEDBACK_XCP, &words);
	u32 echo;

	if (!word || (words != XCP_WORDS && words != XCP_ACK_WORDS))
		return;
	echo = be32_to_cpu(word[words - 1]);
	if (echo != XCP_NO_ECHO) {
		xcp->granted = xcp_sum(xcp->granted, (s32)echo);
		xcp->last = (s32)echo;
		xcp->echoes++;
		xcp->answered = true;
	}
	if (words == XCP_WORDS && be32_to_cpu(word[XCP_RTT]) & XCP_ANSWERED) {
		xcp->received = xcp_sum(xcp->received, (s32)be32_to_cpu(word[XCP_DELTA]));
		xcp->pending = true;
	}
}

/* ---- the window ------------------------------------------------------- */

static void xcp_apply(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct xcp *xcp = xcp_of(sk);
	const s32 granted = xcp->granted;
	const u64 per_s = (u64)USEC_PER_SEC * max(explicit_packet_bytes(tp), 1U);
	const u64 change = mul_u64_u64_div_u64((u64)abs(granted) << XCP_SHIFT,
					       xcp_rtt_us(tp), per_s);

	xcp->granted = 0;
	if (granted >= 0)
		xcp->window = min(xcp->window + change, XCP_MAX_WINDOW);
	else
		xcp->window = xcp->window > change + XCP_MIN_WINDOW ? xcp->window - change :
								      XCP_MIN_WINDOW;
}

static CONG_CONTROL(xcp_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct xcp *xcp = xcp_of(sk);

	/* The ACK of the SYN precedes xcp_init(). */
	if (!xcp->window)
		return;
	if (xcp->answered)
		xcp_apply(sk);
	else
		xcp->window = (u64)explicit_reno_window(sk, rs, xcp->window >> XCP_SHIFT) << XCP_SHIFT;
	tcp_snd_cwnd_set(tp, min(recovery_window(sk, rs, xcp->window >> XCP_SHIFT, 0),
				 tp->snd_cwnd_clamp));
	explicit_pace(sk, EXPLICIT_PACING_GAIN);
}

static u32 xcp_ssthresh(struct sock *sk)
{
	return max_t(u32, xcp_of(sk)->window >> (XCP_SHIFT + 1), XCP_MIN_WINDOW >> XCP_SHIFT);
}

static void xcp_set_state(struct sock *sk, u8 state)
{
	const u8 old = inet_csk(sk)->icsk_ca_state;
	struct xcp *xcp = xcp_of(sk);

	if (state == old)
		return;
	if (state == TCP_CA_Recovery)
		xcp->window = max(xcp->window / 2, XCP_MIN_WINDOW);
	else if (state == TCP_CA_Loss)
		xcp->window = XCP_MIN_WINDOW;
}

static u32 xcp_undo_cwnd(struct sock *sk)
{
	struct xcp *xcp = xcp_of(sk);

	xcp->window = max(xcp->window, (u64)tcp_sk(sk)->prior_cwnd << XCP_SHIFT);
	return xcp->window >> XCP_SHIFT;
}

/* ---- registration ----------------------------------------------------- */

static size_t xcp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct xcp *xcp = xcp_of(sk);
	struct {
		u32 window;
		s32 change;
		u32 echoes;
		u32 answered;
	} state = {
		.window = min_t(u64, xcp->window * 100 >> XCP_SHIFT, U32_MAX),
		.change = xcp->last,
		.echoes = xcp->echoes,
		.answered = xcp->answered,
	};

	BUILD_BUG_ON(sizeof(state) > sizeof(*info));
	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memcpy(info, &state, sizeof(state));
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(state);
}

static void xcp_init(struct sock *sk)
{
	*xcp_of(sk) = (struct xcp) { .window = tcp_snd_cwnd(tcp_sk(sk)) * XCP_ONE };
	feedback_reserve(sk, XCP_WORDS);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static void xcp_release(struct sock *sk)
{
	feedback_release(sk, XCP_WORDS);
}

static struct tcp_congestion_ops feedback_ops __read_mostly = {
	.name		= "xcp",
	.owner		= THIS_MODULE,
	.init		= xcp_init,
	.release	= xcp_release,
	.cong_control	= xcp_cong_control,
	.ssthresh	= xcp_ssthresh,
	.set_state	= xcp_set_state,
	.undo_cwnd	= xcp_undo_cwnd,
	.get_info	= xcp_get_info,
};

static int __init xcp_register(void)
{
	BUILD_BUG_ON(sizeof(struct xcp) > ICSK_CA_PRIV_SIZE);
	return feedback_register();
}

module_init(xcp_register);
module_exit(feedback_unregister);

CCBENCH_CCA(xcp,
	    CCA_NEEDS_RECEIVER
	    CCA_INFO("window_packets:u32:0.01|change_kbps:s32:0.008|echoes|answered"),
	    "XCP: routers grant changes of each flow's rate");
MODULE_DESCRIPTION("XCP: explicit changes of rates by routers, sender and receiver");
MODULE_LICENSE("GPL");
