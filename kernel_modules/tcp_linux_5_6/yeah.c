// SPDX-License-Identifier: GPL-2.0
/*
 * YeAH (Baiocchi, Castellani and Vacirca, PFLDnet 2007) as in Linux 5.6 and earlier.
 *
 * Once per round trip, YeAH estimates its packets in the queue from the shortest RTT of the
 * round trip and of the connection:
 *
 *	queue = window * (RTT - base RTT) / RTT
 *
 *	fast mode	queue of at most 80 packets, and RTT at most 1/8 above the base
 *			RTT: the window grows as Scalable TCP's
 *	Reno mode	otherwise: the window grows as Reno's; above 80 packets it is
 *			reduced by the queue, at most by half, and not below an estimate
 *			of a competing Reno flow's window
 *
 * After a loss, the window is reduced by the queue, at least by 1/8 and at most by half; by
 * half after 16 round trips in Reno mode, which indicate competing flows.
 *
 * Two steps differ from Linux 5.7 and later:
 *
 *	fast mode	The window grows on the first ACK above 100 packets (or a window,
 *			if less), and the excess is lost. Later: on every 100th packet.
 *	Reno mode	A step per ACK. Later: per packet.
 *
 * Its state is too private to Linux's YeAH to be shared, so this is a program of its own.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "cca_compat.h"
#include "linux_5_6.h"

#define YEAH_FAST_PACKETS	100U	/* a packet more per this number */
#define YEAH_MAX_QUEUE		80	/* packets */
#define YEAH_RTT_SHIFT		3	/* fast mode: RTT up to 1/8 above the base RTT */
#define YEAH_LOSS_SHIFT		3	/* a loss reduces the window by 1/8 at least */
#define YEAH_COMPETING_ROUNDS	16	/* in Reno mode */
#define YEAH_ALONE_ROUNDS	50	/* in fast mode, after which Reno's window is forgotten */
#define YEAH_MIN_SAMPLES	3	/* of the RTT per round trip, or ACKs are all delayed */
#define YEAH_MIN_CWND		2U
#define YEAH_MAX_RENO_ROUNDS	0xffffffU
#define YEAH_NO_RTT		0x7fffffffU
/* The window times 128 fits into 32 bits. */
#define YEAH_MAX_CWND		(U32_MAX / 128)

struct yeah_5_6 {
	u32	base_us;	/* shortest RTT */
	u32	round_us;	/* shortest RTT of this round trip */
	u32	round_end;	/* sequence number whose ACK ends the round trip */
	u32	samples;	/* of the RTT in this round trip */
	u32	acked;		/* packets of the last ACK */
	u32	queue;		/* packets */
	u32	reno_cwnd;	/* estimated window of a competing Reno flow */
	u32	reno_rounds;	/* since the last one in fast mode */
	u32	fast_rounds;	/* since the last loss */
};

static void yeah_start_round(struct sock *sk)
{
	struct yeah_5_6 *yeah = inet_csk_ca(sk);

	yeah->round_end = tcp_sk(sk)->snd_nxt;
	yeah->round_us = YEAH_NO_RTT;
	yeah->samples = 0;
}

static void yeah_restart(struct sock *sk)
{
	struct yeah_5_6 *yeah = inet_csk_ca(sk);

	yeah->base_us = YEAH_NO_RTT;
	yeah_start_round(sk);
}

static void yeah_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah_5_6 *yeah = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(*yeah) > ICSK_CA_PRIV_SIZE);
	*yeah = (struct yeah_5_6) { .reno_cwnd = YEAH_MIN_CWND };
	yeah_restart(sk);
	tp->snd_cwnd_clamp = min_t(u32, tp->snd_cwnd_clamp, YEAH_MAX_CWND);
}

static void yeah_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct yeah_5_6 *yeah = inet_csk_ca(sk);
	u32 rtt_us = sample->rtt_us + 1;	/* never 0 */

	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Open)
		yeah->acked = sample->pkts_acked;
	if (sample->rtt_us < 0)
		return;
	yeah->base_us = min(yeah->base_us, rtt_us);
	yeah->round_us = min(yeah->round_us, rtt_us);
	yeah->samples++;
}

static void yeah_grow_fast(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah_5_6 *yeah = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	tp->snd_cwnd_cnt += yeah->acked;
	/* ACKs outside the open state count as one packet. */
	yeah->acked = 1;
	if (tp->snd_cwnd_cnt <= min(cwnd, YEAH_FAST_PACKETS))
		return;
	tp->snd_cwnd_cnt = 0;
	if (cwnd < tp->snd_cwnd_clamp)
		tcp_snd_cwnd_set(tp, cwnd + 1);
}

static void yeah_shorten_queue(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah_5_6 *yeah = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (yeah->queue <= YEAH_MAX_QUEUE || cwnd <= yeah->reno_cwnd)
		return;
	cwnd = max(cwnd - min(yeah->queue, cwnd / 2), yeah->reno_cwnd);
	tcp_snd_cwnd_set(tp, cwnd);
	tp->snd_ssthresh = cwnd;
}

static void yeah_choose_mode(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct yeah_5_6 *yeah = inet_csk_ca(sk);
	u32 queueing_us = yeah->round_us - yeah->base_us;

	yeah->queue = div_u64((u64)tcp_snd_cwnd(tp) * queueing_us, yeah->round_us);
	if (yeah->queue <= YEAH_MAX_QUEUE && queueing_us <= yeah->base_us >> YEAH_RTT_SHIFT) {
		yeah->reno_rounds = 0;
		if (++yeah->fast_rounds > YEAH_ALONE_ROUNDS) {
			yeah->fast_rounds = 0;
			yeah->reno_cwnd = YEAH_MIN_CWND;
		}
		return;
	}
	yeah_shorten_queue(sk);
	if (yeah->reno_cwnd <= YEAH_MIN_CWND)
		yeah->reno_cwnd = max(tcp_snd_cwnd(tp) / 2, YEAH_MIN_CWND);
	else
		yeah->reno_cwnd++;
	yeah->reno_rounds = min(yeah->reno_rounds + 1, YEAH_MAX_RENO_ROUNDS);
}

static void yeah_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah_5_6 *yeah = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		tcp_slow_start(tp, acked);
	else if (yeah->reno_rounds)
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), 1);
	else
		yeah_grow_fast(sk);

	if (!after(ack, yeah->round_end))
		return;
	if (yeah->samples >= YEAH_MIN_SAMPLES)
		yeah_choose_mode(sk);
	yeah_start_round(sk);
}

/* Called once per loss event. */
static u32 yeah_ssthresh(struct sock *sk)
{
	struct yeah_5_6 *yeah = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 reduction = max(cwnd / 2, YEAH_MIN_CWND);

	if (yeah->reno_rounds < YEAH_COMPETING_ROUNDS)
		reduction = max(min(yeah->queue, reduction), cwnd >> YEAH_LOSS_SHIFT);
	yeah->fast_rounds = 0;
	yeah->reno_cwnd = max(yeah->reno_cwnd / 2, YEAH_MIN_CWND);
	return cwnd > reduction + YEAH_MIN_CWND ? cwnd - reduction : YEAH_MIN_CWND;
}

/* RTTs during a recovery are those of a shrinking queue. */
static void yeah_set_state(struct sock *sk, u8 state)
{
	if (state == TCP_CA_Open)
		yeah_start_round(sk);
}

/* After an idle time, the path may be a different one. */
static void yeah_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		yeah_restart(sk);
}
CCA_TX_START(yeah_event)

/* YeAH reports its state in the structure of Vegas. */
static size_t yeah_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct yeah_5_6 *yeah = inet_csk_ca(sk);

	if (!(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info) {
		.tcpv_enabled = inet_csk(sk)->icsk_ca_state == TCP_CA_Open,
		.tcpv_rttcnt = yeah->samples,
		.tcpv_rtt = yeah->base_us,
		.tcpv_minrtt = yeah->round_us,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(info->vegas);
}

struct tcp_congestion_ops yeah_5_6 __read_mostly = {
	.name		= "yeah_5_6",
	.owner		= THIS_MODULE,
	.init		= yeah_init,
	.ssthresh	= yeah_ssthresh,
	.cong_avoid	= yeah_cong_avoid,
	.pkts_acked	= yeah_pkts_acked,
	.set_state	= yeah_set_state,
	CCA_EVENTS(yeah_event),
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= yeah_get_info,
};
