// SPDX-License-Identifier: GPL-2.0
/*
 * The hosts of VCP, the Variable-structure congestion Control Protocol (Xia, Subramanian, Stoica
 * and Kalyanaraman, "One More Bit Is Enough", SIGCOMM 2005).
 *
 * Routers state the load of their links in the two bits of ECN, and the receiver echoes them. The
 * sender reacts once in a RTT, or in the interval t_rho in which routers measure:
 *
 *	low load	w *= 1 + xi per t_rho			(multiplicative increase)
 *	high load	w += alpha rtt / t_rho per t_rho	(additive increase)
 *	overload	w *= beta, then t_rho without a change, and a RTT of additive increase
 *
 * where xi = kappa (1 - 0.8) / 0.8. The increases are spread over the ACKs of a RTT, so that per
 * RTT they are (1 + xi)^(rtt / t_rho) - 1 and alpha (rtt / t_rho)^2: flows with different RTTs
 * grow by the same.
 *
 * Deviations:
 *
 * 1. The echo is a TCP option (feedback_option.h); the paper leaves it open. ECN of TCP is not
 *    used on the connection.
 * 2. rtt / t_rho is at most 5.
 * 3. The window is at least two packets, as a receiver delays ACKs.
 * 4. With a receiver without this module, the sender is Reno. Without a router of VCP, packets
 *    arrive with low load.
 * 5. As in the paper, losses are answered as by Reno; in recovery, packets are conserved (RFC
 *    9937, recovery.h).
 * 6. Packets are paced at twice the window per RTT, also with large windows, which the authors'
 *    simulator does not pace.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>

#include "bounded_param.h"
#include "cca_compat.h"
#include "ccbench_describe.h"
#include "explicit_window.h"
#include "feedback_hooks.h"
#include "ip_fields.h"
#include "pkt_vcp.h"
#include "recovery.h"

#define VCP_SHIFT	16	/* windows and factors are in units of 2^-16 */
#define VCP_ONE		(1ULL << VCP_SHIFT)
#define VCP_MIN_WINDOW	(2 * VCP_ONE)
#define VCP_MAX_WINDOW	(1ULL << (30 + VCP_SHIFT))
#define VCP_MOST_SCALE	(5 * VCP_ONE)
#define VCP_ECHO_WORDS	1

static unsigned int alpha_permille = 1000;
static unsigned int beta_permille = 875;
static unsigned int kappa_permille = 250;
static unsigned int interval_ms = 200;

BOUNDED_PARAM(alpha_permille, alpha_permille, 0, 100000, 0644,
	      "additive increase per interval, in thousandths of a packet");
BOUNDED_PARAM(beta_permille, beta_permille, 1, 1000, 0644,
	      "what an overload leaves of the window, in thousandths");
BOUNDED_PARAM(kappa_permille, kappa_permille, 0, 1000, 0644,
	      "gain of the multiplicative increase, in thousandths");
BOUNDED_PARAM(interval_ms, interval_ms, 1, 10000, 0644,
	      "time over which routers measure, in ms");

enum vcp_phase { VCP_FREE, VCP_FROZEN, VCP_ADDITIVE };

struct vcp {
	u64	window;
	u32	phase_end_us;
	u8	phase;		/* after an overload */
	u8	load;		/* of the last echo */
	u8	received;	/* receiver: load of the last packet */
};

static struct vcp *vcp_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* ---- headers ---------------------------------------------------------- */

static void feedback_out(struct sock *sk, struct sk_buff *skb, const struct tcphdr *th)
{
	const u32 echo = vcp_of(sk)->received;
	const bool data = feedback_is_data(skb, th);
	const unsigned int ip_bytes = skb->protocol == htons(ETH_P_IPV6) ?
				      sizeof(struct ipv6hdr) : sizeof(struct iphdr);

	if (data && !skb_ensure_writable(skb, ip_bytes))
		ip_set_ecn(skb, VCP_LOW);
	if (data || echo != VCP_NONE)
		feedback_add(skb, FEEDBACK_VCP, &echo, VCP_ECHO_WORDS);
}

static void feedback_in(struct sock *sk, struct sk_buff *skb, struct tcphdr *th)
{
	struct vcp *vcp = vcp_of(sk);
	unsigned int words;
	const __be32 *word = feedback_find(th, FEEDBACK_VCP, &words);

	if (word && words == VCP_ECHO_WORDS && be32_to_cpu(*word) != VCP_NONE)
		vcp->load = be32_to_cpu(*word) & INET_ECN_MASK;
	if (feedback_is_data(skb, th))
		vcp->received = ip_ecn(skb);
}

/* ---- the window ------------------------------------------------------- */

static u64 vcp_product(u64 a, u64 b)
{
	return mul_u64_u64_shr(a, b, VCP_SHIFT);
}

/* (1 + xi)^scale - 1, with the first terms of the logarithm and of the exponential. */
static u64 vcp_growth(u64 xi, u64 scale)
{
	const u64 square = vcp_product(xi, xi);
	const u64 x = vcp_product(xi - square / 2 + vcp_product(square, xi) / 3, scale);
	const u64 x_square = vcp_product(x, x);

	return x + x_square / 2 + vcp_product(x_square, x) / 6;
}

static void vcp_grow(struct vcp *vcp, u64 step)
{
	vcp->window = min(vcp->window + step, VCP_MAX_WINDOW);
}

static void vcp_react(struct sock *sk, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const u32 interval_us = READ_ONCE(interval_ms) * (u32)USEC_PER_MSEC;
	const u32 rtt_us = tp->srtt_us >> 3;
	const u64 scale = min(div_u64((u64)rtt_us << VCP_SHIFT, interval_us), VCP_MOST_SCALE);
	const u32 now_us = tp->tcp_mstamp;
	struct vcp *vcp = vcp_of(sk);
	u64 step;

	if (vcp->phase != VCP_FREE && (s32)(now_us - vcp->phase_end_us) >= 0) {
		vcp->phase = vcp->phase == VCP_FROZEN ? VCP_ADDITIVE : VCP_FREE;
		vcp->phase_end_us += rtt_us;
		if ((s32)(now_us - vcp->phase_end_us) >= 0)
			vcp->phase = VCP_FREE;
	}
	if (vcp->load == VCP_LOW) {
		const u64 xi = ((u64)READ_ONCE(kappa_permille) << VCP_SHIFT) / 4000;

		if (tcp_is_cwnd_limited(sk))
			vcp_grow(vcp, acked * vcp_growth(xi, scale));
	} else if (vcp->load == VCP_HIGH || vcp->phase == VCP_ADDITIVE) {
		step = vcp_product(vcp_product(scale, scale),
				   ((u64)READ_ONCE(alpha_permille) << VCP_SHIFT) / 1000);
		if (tcp_is_cwnd_limited(sk))
			vcp_grow(vcp, div64_u64((acked * step) << VCP_SHIFT, vcp->window));
	} else if (vcp->phase == VCP_FREE) {
		vcp->window = max(div_u64(vcp->window * READ_ONCE(beta_permille), 1000),
				  VCP_MIN_WINDOW);
		vcp->phase = VCP_FROZEN;
		vcp->phase_end_us = now_us + interval_us;
	}
}

static CONG_CONTROL(vcp_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vcp *vcp = vcp_of(sk);

	/* The ACK of the SYN precedes vcp_init(). */
	if (!vcp->window)
		return;
	if (vcp->load == VCP_NONE)
		vcp->window = (u64)explicit_reno_window(sk, rs, vcp->window >> VCP_SHIFT) << VCP_SHIFT;
	else if (rs->acked_sacked > 0 && inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		vcp_react(sk, rs->acked_sacked);
	tcp_snd_cwnd_set(tp, min(recovery_window(sk, rs, vcp->window >> VCP_SHIFT, 0),
				 tp->snd_cwnd_clamp));
	explicit_pace(sk, EXPLICIT_PACING_GAIN);
}

static u32 vcp_ssthresh(struct sock *sk)
{
	return max_t(u32, vcp_of(sk)->window >> (VCP_SHIFT + 1), VCP_MIN_WINDOW >> VCP_SHIFT);
}

static void vcp_set_state(struct sock *sk, u8 state)
{
	struct vcp *vcp = vcp_of(sk);

	if (state == inet_csk(sk)->icsk_ca_state)
		return;
	if (state == TCP_CA_Recovery)
		vcp->window = max(vcp->window / 2, VCP_MIN_WINDOW);
	else if (state == TCP_CA_Loss)
		vcp->window = VCP_MIN_WINDOW;
}

static u32 vcp_undo_cwnd(struct sock *sk)
{
	struct vcp *vcp = vcp_of(sk);

	vcp->window = max(vcp->window, (u64)tcp_sk(sk)->prior_cwnd << VCP_SHIFT);
	return vcp->window >> VCP_SHIFT;
}

/* ---- registration ----------------------------------------------------- */

static size_t vcp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct vcp *vcp = vcp_of(sk);
	const u32 state[] = {
		min_t(u64, vcp->window * 100 >> VCP_SHIFT, U32_MAX), vcp->load, vcp->phase,
	};

	BUILD_BUG_ON(sizeof(state) > sizeof(*info));
	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memcpy(info, state, sizeof(state));
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(state);
}

static void vcp_init(struct sock *sk)
{
	*vcp_of(sk) = (struct vcp) { .window = tcp_snd_cwnd(tcp_sk(sk)) * VCP_ONE };
	/* The field has another meaning. */
	tcp_sk(sk)->ecn_flags &= ~EXPLICIT_ECN_MODES;
	feedback_reserve(sk, VCP_ECHO_WORDS);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static void vcp_release(struct sock *sk)
{
	feedback_release(sk, VCP_ECHO_WORDS);
}

static struct tcp_congestion_ops feedback_ops __read_mostly = {
	.name		= "vcp",
	.owner		= THIS_MODULE,
	.init		= vcp_init,
	.release	= vcp_release,
	.cong_control	= vcp_cong_control,
	.ssthresh	= vcp_ssthresh,
	.set_state	= vcp_set_state,
	.undo_cwnd	= vcp_undo_cwnd,
	.get_info	= vcp_get_info,
};

static int __init vcp_register(void)
{
	BUILD_BUG_ON(sizeof(struct vcp) > ICSK_CA_PRIV_SIZE);
	return feedback_register();
}

module_init(vcp_register);
module_exit(feedback_unregister);

CCBENCH_CCA(vcp,
	    CCA_NEEDS_RECEIVER
	    CCA_INFO("window_packets:u32:0.01|load:u32:none/low/high/overload|"
		     "phase:u32:free/frozen/additive"),
	    "VCP: routers state their load in the bits of ECN");
MODULE_DESCRIPTION("VCP: variable structure by the load of routers, sender and receiver");
MODULE_LICENSE("GPL");
