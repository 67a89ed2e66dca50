// SPDX-License-Identifier: GPL-2.0
/*
 * Sprout (Winstein, Sivaraman and Balakrishnan, NSDI 2013): a window of the packets that a link
 * will deliver in the next 100 ms, with a probability of 95 %.
 *
 *	model		the link's rate is one of 256 up to 1000 packets per second, and a
 *			Brownian motion (model.c)
 *	observation	each tick of 20 ms, the number of packets that have arrived changes the
 *			probabilities of the rates by Bayes' rule
 *	forecast	the number of packets that arrive in the five ticks after the next;
 *			fewer have a probability of 5 %
 *	window		the forecast, including the packets in flight
 *
 * Deviations from the paper, whose sender and receiver are a program over UDP:
 *
 * 1. The paper's receiver infers and sends its forecasts to the sender. Here the sender infers
 *    from ACKs. It sees the same arrivals, later by the delay of the ACKs, and the receiver's
 *    forecasts would arrive as much later. The two differ if ACKs are lost, wait, or are for
 *    several packets: one of a delayed ACK for two can count in the next tick.
 * 2. TCP sends lost packets again. They are not in flight until they are sent, as in Sprout,
 *    whose receiver states how many bytes it has received or takes for lost.
 * 3. A packet of Sprout states how long its sender will pause after it, and a tick without
 *    arrivals in this time is no observation. The sender knows its pauses: such a tick is none
 *    if the oldest packet in flight could not arrive before it began.
 * 4. Sprout sends a small packet every 50 ms if the window is full. Here the window has at
 *    least two packets, and TCP's timeout ends an outage in which all have been lost.
 * 5. A forecast is new each tick. In Sprout, a forecast can be older, if none arrives.
 *
 * TCP's timer for pacing, which Sprout does not need, ends each tick: TCP then calls
 * min_tso_segs before it sends.
 *
 * The paper's text looks five ticks ahead. The authors' program, which was measured, takes the
 * forecast of six ticks less that of the next one, and so does this module: the former is about
 * a third smaller, and with round trips of 100 ms leaves the window at its minimum.
 *
 * As published, a window has no memory of the base round trip: the longer it is, the less of
 * the link is used.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "bounded_param.h"
#include "cca_compat.h"
#include "ccbench_describe.h"
#include "large_state.h"
#include "model.h"
#include "recovery.h"

#define SPROUT_MIN_WINDOW	2U
#define SPROUT_MIN_SEGMENTS	1	/* of a burst */
#define SPROUT_MAX_IDLE_US	(5 * USEC_PER_SEC)

static unsigned int risk_permille = 50;

BOUNDED_PARAM(risk_permille, risk_permille, 1, 999, 0644,
	      "probability that fewer packets arrive than forecast, in thousandths");

struct sprout {
	struct sprout_belief belief;
	struct sprout_belief next;
	u64	tick_us;	/* start of the current tick */
	u32	arrived;	/* packets in the current tick */
	u32	window;
	u32	ticks;
	u32	observed;	/* ticks */
};

static struct sprout *sprout_of(const struct sock *sk)
{
	return large_state(sk);
}

static void sprout_decide(struct sprout *sprout)
{
	u32 risk = div_u64((u64)READ_ONCE(risk_permille) * SPROUT_ONE, 1000);

	sprout->window = max(sprout_forecast(&sprout->belief, SPROUT_AHEAD, risk) -
			     sprout_forecast(&sprout->belief, SPROUT_NEXT_TICK, risk),
			     SPROUT_MIN_WINDOW);
}

/* Whether a packet could have arrived by now, over an idle link. */
static bool sprout_expects(const struct sock *sk, u64 now_us)
{
	const struct sk_buff *oldest = tcp_rtx_queue_head(sk);

	return oldest && tcp_skb_timestamp_us(oldest) + tcp_min_rtt(tcp_sk(sk)) <= now_us;
}

static void sprout_end_tick(struct sock *sk, struct sprout *sprout)
{
	sprout_evolve(&sprout->belief, &sprout->next);
	sprout->belief = sprout->next;
	if (sprout->arrived || sprout_expects(sk, sprout->tick_us)) {
		sprout_observe(&sprout->belief, sprout->arrived);
		sprout->observed++;
	}
	sprout->arrived = 0;
	sprout->ticks++;
	sprout->tick_us += SPROUT_TICK_US;
}

static void sprout_wake_at_end(struct sock *sk, const struct sprout *sprout)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 end_ns = (sprout->tick_us + SPROUT_TICK_US) * NSEC_PER_USEC;

	if (!tp->packets_out || hrtimer_is_queued(&tp->pacing_timer))
		return;
	hrtimer_start(&tp->pacing_timer, ns_to_ktime(end_ns), HRTIMER_MODE_ABS_PINNED_SOFT);
	sock_hold(sk);
}

static void sprout_advance(struct sock *sk, struct sprout *sprout)
{
	u64 now_us = tcp_sk(sk)->tcp_mstamp;

	if (now_us - sprout->tick_us > SPROUT_MAX_IDLE_US)
		sprout->tick_us = now_us - SPROUT_MAX_IDLE_US;
	if (now_us - sprout->tick_us < SPROUT_TICK_US)
		return;
	while (now_us - sprout->tick_us >= SPROUT_TICK_US)
		sprout_end_tick(sk, sprout);
	sprout_decide(sprout);
}

static CONG_CONTROL(sprout_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sprout *sprout = sprout_of(sk);

	if (!sprout)
		return;
	sprout_advance(sk, sprout);
	sprout->arrived += rs->acked_sacked;
	tcp_snd_cwnd_set(tp, min(recovery_window(sk, rs, sprout->window, 0),
				 tp->snd_cwnd_clamp));
	sprout_wake_at_end(sk, sprout);
}

/* Called before packets are sent, at the latest at the end of a tick. */
static u32 sprout_min_tso_segs(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sprout *sprout = sprout_of(sk);

	if (sprout) {
		sprout_advance(sk, sprout);
		if (!tcp_in_cwnd_reduction(sk))
			tcp_snd_cwnd_set(tp, min(sprout->window, tp->snd_cwnd_clamp));
		sprout_wake_at_end(sk, sprout);
	}
	return SPROUT_MIN_SEGMENTS;
}

static u32 sprout_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static u32 sprout_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* Sprout reports its state in the structure of Vegas. */
static size_t sprout_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct sprout *sprout = sprout_of(sk);

	if (!sprout || !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info) {
		.tcpv_enabled = sprout->ticks,
		.tcpv_rttcnt = sprout->observed,
		.tcpv_rtt = sprout_mean_rate(&sprout->belief),
		.tcpv_minrtt = sprout->window,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(info->vegas);
}

LARGE_STATE_RENO(sprout_reno, "sprout_reno");

static void sprout_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sprout *sprout = large_state_begin(sk, sizeof(*sprout), &sprout_reno);

	if (!sprout)
		return;
	sprout->tick_us = tp->tcp_mstamp;
	sprout_know_nothing(&sprout->belief);
	sprout_decide(sprout);
	tcp_snd_cwnd_set(tp, min(sprout->window, tp->snd_cwnd_clamp));
}

static struct tcp_congestion_ops sprout __read_mostly = {
	.name		= "sprout",
	.owner		= THIS_MODULE,
	.init		= sprout_init,
	.release	= large_state_end,
	.cong_control	= sprout_cong_control,
	.ssthresh	= sprout_ssthresh,
	.undo_cwnd	= sprout_undo_cwnd,
	.min_tso_segs	= sprout_min_tso_segs,
	.get_info	= sprout_get_info,
};

static int __init sprout_register(void)
{
	int error = sprout_model_init();

	if (error)
		return error;
	error = tcp_register_congestion_control(&sprout);
	if (error)
		sprout_model_exit();
	return error;
}

static void __exit sprout_unregister(void)
{
	tcp_unregister_congestion_control(&sprout);
	sprout_model_exit();
}

module_init(sprout_register);
module_exit(sprout_unregister);

MODULE_DESCRIPTION("Sprout: a window of cautious forecasts of the packets that a link delivers");
MODULE_LICENSE("GPL");

/* Ticks, those with an observation, the mean of the rates, and the window. */
#define INFO	CCA_INFO("ticks|observed|rate_mbps:u32:0.012|window_packets")

CCBENCH_CCA(sprout, INFO, "Sprout, from ACKs");
