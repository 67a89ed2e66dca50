// SPDX-License-Identifier: GPL-2.0
/*
 * FAST TCP (Jin, Wei and Low, INFOCOM 2004): a constant number of packets in the queue.
 *
 * Once per round trip, the window moves towards
 *
 *	min(2w, (1 - gamma) w + gamma (baseRTT / RTT * w + alpha))
 *
 * where baseRTT is the smallest and RTT the mean round-trip time. In equilibrium, each
 * flow has alpha packets in the queue, so that flows share a link equally, whatever
 * their RTTs. Far from it, the window grows by gamma * alpha packets per round trip.
 *
 *	slow start	the window doubles per round trip until there is a queue
 *	loss		the window is halved, once per recovery
 *
 * The mean RTT gives each packet the weight min(3/w, 1/4), as in the paper: it covers
 * about a third of a window.
 *
 * Decisions where the paper is silent or leaves a choice:
 *
 * 1. The window moves in each round trip, not in every other one: so it needs 72 round
 *    trips for the 7212 packets of Konda and Kaur's Table I ("~70"), with alpha = 200.
 * 2. It moves in equal steps over the ACKs of a round trip, so that a large alpha is no
 *    burst.
 * 3. "There is a queue" is a mean RTT of more than baseRTT + start_us.
 * 4. alpha is a number of packets for all rates, 20 by default. The authors' release
 *    chose it by the rate, which makes flows of unequal rates unfair.
 * 5. A window that the application does not fill does not grow.
 * 6. After a recovery, one round trip renews the mean RTT before the window moves.
 *
 * baseRTT never rises: after a change to a longer path, FAST takes the difference for a
 * queue, and a flow that starts when others have filled the queue takes their packets
 * for the path's delay, and gets more than they.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "bounded_param.h"
#include "ccbench_describe.h"

#define FAST_MIN_CWND		2U
#define FAST_RTT_BITS		6	/* fraction of the mean RTT */
#define FAST_MAX_RTT_US		(U32_MAX >> FAST_RTT_BITS)
#define FAST_MIN_SHARE		4	/* at most 1/4 of the mean is the newest packet */
#define FAST_MEAN_DIVISOR	3	/* the mean covers a third of a window */
#define FAST_MAX_ALPHA		10000

static unsigned int alpha = 20;
static unsigned int gamma_percent = 50;
static unsigned int start_us = 750;

BOUNDED_PARAM(alpha, alpha, 1, FAST_MAX_ALPHA, 0644, "packets of a flow in the queue");
BOUNDED_PARAM(gamma_percent, gamma_percent, 1, 100, 0644,
	      "step towards the equilibrium per round trip, in per cent");
BOUNDED_PARAM(start_us, start_us, 0, 1000000, 0644,
	      "queueing delay in us at which slow start ends");

struct fast {
	u32	base_us;	/* baseRTT; 0 before the first RTT */
	u32	mean_us;	/* RTT, in units of 2^-6 us */
	u32	round_end;	/* the round trip ends when this is acknowledged */
	u32	round_acked;	/* packets in this round trip */
	u32	from;		/* window at its start */
	u32	to;		/* window at its end */
	u8	renews : 1;	/* in recovery, which the next round trip follows */
};

static u32 fast_mean_us(const struct fast *fast)
{
	return fast->mean_us >> FAST_RTT_BITS;
}

static u32 fast_queueing_us(const struct fast *fast)
{
	return fast_mean_us(fast) - min(fast_mean_us(fast), fast->base_us);
}

static void fast_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct fast *fast = inet_csk_ca(sk);
	u32 share = max(tcp_snd_cwnd(tcp_sk(sk)) / FAST_MEAN_DIVISOR, FAST_MIN_SHARE);
	u32 rtt_us;

	if (sample->rtt_us <= 0)
		return;
	rtt_us = min_t(u32, sample->rtt_us, FAST_MAX_RTT_US);
	if (!fast->base_us) {
		fast->base_us = rtt_us;
		fast->mean_us = rtt_us << FAST_RTT_BITS;
		return;
	}
	fast->base_us = min(fast->base_us, rtt_us);
	fast->mean_us += div_s64((s64)(rtt_us << FAST_RTT_BITS) - fast->mean_us, share);
}

/* (1 - gamma) w + gamma (baseRTT / RTT * w + alpha) = w + gamma (alpha - queueing / RTT * w) */
static u32 fast_target(const struct fast *fast, u32 cwnd)
{
	u32 queued = div_u64((u64)cwnd * fast_queueing_us(fast), max(fast_mean_us(fast), 1U));
	s64 step = div_s64(((s64)READ_ONCE(alpha) - queued) * READ_ONCE(gamma_percent), 100);

	return clamp_t(s64, cwnd + step, FAST_MIN_CWND, 2ULL * cwnd);
}

static void fast_start_round(struct sock *sk, bool moves)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct fast *fast = inet_csk_ca(sk);

	fast->round_end = tp->snd_nxt;
	fast->round_acked = 0;
	fast->from = tcp_snd_cwnd(tp);
	fast->to = moves ? fast_target(fast, fast->from) : fast->from;
}

/* The window after this part of the round trip; all of it has passed after `from` packets. */
static u32 fast_window(const struct fast *fast)
{
	u32 passed = min(fast->round_acked, fast->from);
	s64 moved = ((s64)fast->to - fast->from) * passed;

	return fast->from + div_s64(moved, fast->from);
}

static void fast_slow_start(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (fast_queueing_us(inet_csk_ca(sk)) > READ_ONCE(start_us))
		tp->snd_ssthresh = tcp_snd_cwnd(tp);
	else if (tcp_is_cwnd_limited(sk))
		tcp_slow_start(tp, acked);
	fast_start_round(sk, false);
}

static void fast_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct fast *fast = inet_csk_ca(sk);

	if (tcp_in_slow_start(tp)) {
		fast_slow_start(sk, acked);
		return;
	}
	if (fast->renews) {
		fast->renews = 0;
		fast_start_round(sk, false);
	} else if (after(ack, fast->round_end)) {
		fast_start_round(sk, true);
	}
	fast->round_acked += acked;
	if (fast->to > fast->from && !tcp_is_cwnd_limited(sk))
		return;
	tcp_snd_cwnd_set(tp, min(fast_window(fast), tp->snd_cwnd_clamp));
}

/* Called once per loss event. */
static u32 fast_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) / 2, FAST_MIN_CWND);
}

static void fast_set_state(struct sock *sk, u8 state)
{
	struct fast *fast = inet_csk_ca(sk);

	if (state >= TCP_CA_CWR)
		fast->renews = 1;
}

/* FAST reports its state in the structure of Vegas. */
static size_t fast_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct fast *fast = inet_csk_ca(sk);

	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info) {
		.tcpv_enabled = !tcp_in_slow_start(tcp_sk(sk)),
		.tcpv_rttcnt = fast->to,
		.tcpv_rtt = fast_mean_us(fast),
		.tcpv_minrtt = fast->base_us,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(info->vegas);
}

static void fast_init(struct sock *sk)
{
	struct fast *fast = inet_csk_ca(sk);

	*fast = (struct fast) { };
	fast_start_round(sk, false);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
}

static struct tcp_congestion_ops fast __read_mostly = {
	.name		= "fast",
	.owner		= THIS_MODULE,
	.init		= fast_init,
	.cong_avoid	= fast_cong_avoid,
	.pkts_acked	= fast_pkts_acked,
	.ssthresh	= fast_ssthresh,
	.set_state	= fast_set_state,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= fast_get_info,
};

static int __init fast_register(void)
{
	BUILD_BUG_ON(sizeof(struct fast) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&fast);
}

static void __exit fast_unregister(void)
{
	tcp_unregister_congestion_control(&fast);
}

module_init(fast_register);
module_exit(fast_unregister);

MODULE_DESCRIPTION("FAST TCP: a constant number of packets in the queue");
MODULE_LICENSE("GPL");

/* Whether slow start has ended, window at the end of the round trip, mean RTT and baseRTT. */
#define INFO	CCA_INFO("steady|target_packets|mean_us|base_us")

CCBENCH_CCA(fast, INFO, "FAST TCP");
