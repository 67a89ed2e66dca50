// SPDX-License-Identifier: GPL-2.0
/*
 * The hosts of RCP (Dukkipati, Kobayashi, Zhang-Shen and McKeown, "Processor Sharing Flows in the
 * Internet", IWQoS 2005; Dukkipati, "Rate Control Protocol (RCP): Congestion Control to Make
 * Flows Complete Quickly", thesis, Stanford, 2007).
 *
 * Each packet states the sender's RTT, and has the lowest rate that the routers of its path offer
 * to each flow. The receiver echoes that rate, and the sender sends at it.
 *
 * Deviations:
 *
 * 1. The header is a TCP option (feedback_option.h). It is not part of the SYN: in its first
 *    round trip, a flow has the initial window of TCP, instead of a rate.
 * 2. The window is twice the rate times the RTT, so that the rate limits the sender, but an
 *    outage ends transmission after a while. Retransmissions are part of the rate; in recovery,
 *    packets are conserved (RFC 9937, recovery.h).
 * 3. Until a router has answered, and with a receiver without this module, the sender is Reno.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>

#include "cca_compat.h"
#include "ccbench_describe.h"
#include "explicit_window.h"
#include "feedback_hooks.h"
#include "pkt_rcp.h"
#include "recovery.h"

#define RCP_WINDOW_RTTS	2
/* A receiver delays ACKs. */
#define RCP_MIN_WINDOW	4
#define RCP_MAX_WINDOW	(1U << 30)

struct rcp {
	u32	rate;		/* bytes of packets per second; 0: no router has answered */
	u32	echoes;		/* number of echoes */
	u32	received;	/* receiver: the last rate, or RCP_NO_RATE */
	u32	window;		/* packets */
};

static struct rcp *rcp_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* ---- headers ---------------------------------------------------------- */

static void feedback_out(struct sock *sk, struct sk_buff *skb, const struct tcphdr *th)
{
	const u32 echo = rcp_of(sk)->received;

	if (feedback_is_data(skb, th)) {
		const u32 values[RCP_WORDS] = {
			[RCP_RTT] = tcp_sk(sk)->srtt_us >> 3,
			[RCP_RATE] = RCP_NO_RATE,
			[RCP_ECHO] = echo,
		};

		feedback_add(skb, FEEDBACK_RCP, values, RCP_WORDS);
	} else if (echo != RCP_NO_RATE) {
		feedback_add(skb, FEEDBACK_RCP, &echo, RCP_ACK_WORDS);
	}
}

static void feedback_in(struct sock *sk, struct sk_buff *skb, struct tcphdr *th)
{
	struct rcp *rcp = rcp_of(sk);
	unsigned int words;
	const __be32 *word = feedback_find(th, FEEDBACK_RCP, &words);
	u32 echo;

	if (!word || (words != RCP_WORDS && words != RCP_ACK_WORDS))
		return;
	echo = be32_to_cpu(word[words - 1]);
	if (echo != RCP_NO_RATE) {
		rcp->rate = max(echo, 1U);
		rcp->echoes++;
	}
	if (words == RCP_WORDS)
		rcp->received = be32_to_cpu(word[RCP_RATE]);
}

/* ---- the rate --------------------------------------------------------- */

static void rcp_follow_rate(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct rcp *rcp = rcp_of(sk);
	const u32 packet = max(explicit_packet_bytes(tp), 1U);
	const u64 flight = (u64)rcp->rate * (tp->srtt_us >> 3) * RCP_WINDOW_RTTS;
	const u64 payload = mul_u64_u64_div_u64(rcp->rate, tp->mss_cache, packet);

	rcp->window = clamp_t(u64, div64_u64(flight, (u64)packet * USEC_PER_SEC),
			      RCP_MIN_WINDOW, RCP_MAX_WINDOW);
	WRITE_ONCE(sk->sk_pacing_rate,
		   clamp_t(u64, payload, 1, READ_ONCE(sk->sk_max_pacing_rate)));
}

static CONG_CONTROL(rcp_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rcp *rcp = rcp_of(sk);

	/* The ACK of the SYN precedes rcp_init(). */
	if (!rcp->window)
		return;
	if (rcp->rate) {
		rcp_follow_rate(sk);
	} else {
		rcp->window = explicit_reno_window(sk, rs, rcp->window);
		explicit_pace(sk, EXPLICIT_PACING_GAIN);
	}
	tcp_snd_cwnd_set(tp, min(recovery_window(sk, rs, rcp->window, 0), tp->snd_cwnd_clamp));
}

static u32 rcp_ssthresh(struct sock *sk)
{
	return max(rcp_of(sk)->window / 2, 2U);
}

/* Without a router, losses reduce the window as Reno's. */
static void rcp_set_state(struct sock *sk, u8 state)
{
	struct rcp *rcp = rcp_of(sk);

	if (rcp->rate || state == inet_csk(sk)->icsk_ca_state)
		return;
	if (state == TCP_CA_Recovery)
		rcp->window = rcp_ssthresh(sk);
	else if (state == TCP_CA_Loss)
		rcp->window = 1;
}

static u32 rcp_undo_cwnd(struct sock *sk)
{
	struct rcp *rcp = rcp_of(sk);

	rcp->window = max(rcp->window, tcp_sk(sk)->prior_cwnd);
	return rcp->window;
}

/* Single packets, unless the rate is above one packet per ms. */
static u32 rcp_min_tso_segs(struct sock *sk)
{
	return 1;
}

/* ---- registration ----------------------------------------------------- */

static size_t rcp_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct rcp *rcp = rcp_of(sk);
	const u32 state[] = { rcp->rate, rcp->echoes, !!rcp->rate };

	BUILD_BUG_ON(sizeof(state) > sizeof(*info));
	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	memcpy(info, state, sizeof(state));
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(state);
}

static void rcp_init(struct sock *sk)
{
	*rcp_of(sk) = (struct rcp) {
		.received = RCP_NO_RATE,
		.window = tcp_snd_cwnd(tcp_sk(sk)),
	};
	feedback_reserve(sk, RCP_WORDS);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static void rcp_release(struct sock *sk)
{
	feedback_release(sk, RCP_WORDS);
}

static struct tcp_congestion_ops feedback_ops __read_mostly = {
	.name		= "rcp",
	.owner		= THIS_MODULE,
	.init		= rcp_init,
	.release	= rcp_release,
	.cong_control	= rcp_cong_control,
	.ssthresh	= rcp_ssthresh,
	.set_state	= rcp_set_state,
	.undo_cwnd	= rcp_undo_cwnd,
	.min_tso_segs	= rcp_min_tso_segs,
	.get_info	= rcp_get_info,
};

static int __init rcp_register(void)
{
	BUILD_BUG_ON(sizeof(struct rcp) > ICSK_CA_PRIV_SIZE);
	return feedback_register();
}

module_init(rcp_register);
module_exit(feedback_unregister);

CCBENCH_CCA(rcp,
	    CCA_NEEDS_RECEIVER CCA_INFO("rate_mbps:u32:0.000008|echoes|answered"),
	    "RCP: routers offer one rate to all flows");
MODULE_DESCRIPTION("RCP: explicit rates of routers, sender and receiver");
MODULE_LICENSE("GPL");
