// SPDX-License-Identifier: GPL-2.0
/*
 * Verus (Zaki et al., SIGCOMM 2015): the window of a delay, by a profile of delays over windows.
 *
 *	slow start	the window grows by each acknowledged packet until a loss, or a delay
 *			above half a second
 *	profile		the mean delay of the packets that were sent with a window; a curve
 *			through these points is fitted once a second
 *	epoch		every 5 ms the largest delay of the epoch, smoothed, changes the delay
 *			that is aimed at:
 *
 *				Dmax > R Dmin	Dest -= 2 ms
 *				Dmax increases	Dest -= 1 ms
 *				otherwise	Dest += 2 ms
 *
 *			Dest is at least Dmin; the window is that of Dest by the profile
 *	loss		the window is 7/10 of that of the lost packet. Until a packet that was
 *			sent afterwards arrives, it grows as Reno's, and the profile rests
 *	timeout		slow start with an empty profile
 *
 * R, the factor between the delays, trades throughput for delay. The values are those of the
 * authors' program, as are R = 2 and the delay that ends slow start; the paper has R of 2 to 6.
 *
 * Deviations from the paper, whose sender and receiver are a program over UDP:
 *
 * 1. Packets leave when ACKs arrive and the window has room, not at the start of an epoch. With
 *    n epochs per round trip, Verus sends W - V (n - 2) / (n - 1) packets in an epoch if V are in
 *    flight, of which the ACKs of the epoch release V / (n - 1), so that V is W in the end.
 * 2. Delays are round-trip times; the window of a packet is the number of packets that were
 *    delivered while it was in flight.
 * 3. The curve consists of lines between means of up to 15 windows, as many as the authors'
 *    penalised spline has nodes. It goes on as its last rising part.
 * 4. TCP detects losses and timeouts, and sends lost packets again.
 * 5. If Dest is Dmin, the window is at least two packets. The authors' program pauses, and adds
 *    10 ms to Dmin if nothing is in flight.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "bounded_param.h"
#include "cca_compat.h"
#include "ccbench_describe.h"
#include "large_state.h"
#include "profile.h"
#include "recovery.h"

#define VERUS_EPOCH_US		5000U
#define VERUS_DELTA1_US		1000U
#define VERUS_DELTA2_US		2000U
#define VERUS_FIT_US		USEC_PER_SEC
#define VERUS_SLOW_START_US	500000U
#define VERUS_MAX_IDLE_US	(2 * USEC_PER_SEC)
#define VERUS_MIN_WINDOW	2U
#define VERUS_LOSS_TENTHS	7U
#define VERUS_SMOOTH_FIFTHS	1U	/* weight of the smoothed delay in a new one */
#define VERUS_EXIT_PERCENT	75U	/* of R Dmin, after slow start that ended by delay */

static unsigned int ratio_percent = 200;

BOUNDED_PARAM(ratio_percent, ratio_percent, 110, 10000, 0644,
	      "R: largest delay by the shortest, in per cent");

struct verus {
	struct verus_profile profile;
	u64	epoch_us;	/* start of the current epoch */
	u64	fitted_us;	/* last time */
	u64	acked_us;	/* last time */
	u32	min_us;		/* Dmin; 0: none yet */
	u32	epoch_max_us;	/* of this epoch; 0: none yet */
	u32	max_us;		/* smoothed; 0: none yet */
	u32	aim_us;		/* Dest */
	u32	window;
	u32	acked;		/* packets towards the next one of a loss phase */
	u32	delivered;	/* tp->delivered at the start of a loss phase */
	u8	slow_start : 1,
		in_loss : 1;
};

static struct verus *verus_of(const struct sock *sk)
{
	return large_state(sk);
}

static u64 verus_most_us(const struct verus *verus)
{
	return div_u64((u64)verus->min_us * READ_ONCE(ratio_percent), 100);
}

static void verus_lower(struct verus *verus, u32 us)
{
	verus->aim_us = max(verus->aim_us - min(us, verus->aim_us), verus->min_us);
}

static void verus_fit(struct verus *verus)
{
	verus_profile_fit(&verus->profile);
	verus->fitted_us = verus->epoch_us;
}

static void verus_end_slow_start(struct verus *verus)
{
	verus->slow_start = 0;
	verus_fit(verus);
}

static void verus_enter_loss(const struct tcp_sock *tp, struct verus *verus, u32 window)
{
	verus->in_loss = 1;
	verus->acked = 0;
	verus->delivered = tp->delivered;
	verus->window = max(window * VERUS_LOSS_TENTHS / 10, VERUS_MIN_WINDOW);
	verus->aim_us = verus_delay_of(&verus->profile, verus->window);
}

static void verus_end_epoch(struct verus *verus)
{
	u32 max_us = verus->epoch_max_us;

	verus->epoch_us += VERUS_EPOCH_US;
	verus->epoch_max_us = 0;
	if (verus->slow_start || !verus->min_us)
		return;
	/* Without ACKs, the delay is at least the time since the last one. */
	if (!max_us)
		max_us = max_t(u64, verus->max_us, verus->epoch_us - verus->acked_us);
	if (!verus->max_us)
		verus->max_us = max_us;
	if (!verus->in_loss) {
		if (verus->max_us > verus_most_us(verus))
			verus_lower(verus, VERUS_DELTA2_US);
		else if (max_us > verus->max_us)
			verus_lower(verus, VERUS_DELTA1_US);
		else
			verus->aim_us += VERUS_DELTA2_US;
		if (verus->epoch_us - verus->fitted_us >= VERUS_FIT_US)
			verus_fit(verus);
		verus->window = max(verus_window_of(&verus->profile, verus->aim_us),
				    VERUS_MIN_WINDOW);
	}
	verus->max_us = (verus->max_us * VERUS_SMOOTH_FIFTHS +
			 max_us * (5 - VERUS_SMOOTH_FIFTHS)) / 5;
}

static void verus_advance(struct verus *verus, u64 now_us)
{
	if (now_us - verus->epoch_us > VERUS_MAX_IDLE_US)
		verus->epoch_us = now_us - VERUS_MAX_IDLE_US;
	while (now_us - verus->epoch_us >= VERUS_EPOCH_US)
		verus_end_epoch(verus);
}

static void verus_recover(struct verus *verus, const struct rate_sample *rs)
{
	if (!before(rs->prior_delivered, verus->delivered)) {
		verus->in_loss = 0;
		verus->epoch_max_us = 0;
		return;
	}
	verus->acked += rs->acked_sacked;
	if (verus->acked >= verus->window) {
		verus->acked -= verus->window;
		verus->window++;
		verus->aim_us = min(verus->aim_us, verus_delay_of(&verus->profile, verus->window));
	}
}

static void verus_sample(const struct tcp_sock *tp, struct verus *verus,
			 const struct rate_sample *rs)
{
	u32 sent_window = max(rs->delivered, 1);
	u32 rtt_us = rs->rtt_us;

	verus->acked_us = tp->tcp_mstamp;
	if (!verus->min_us || rtt_us < verus->min_us)
		verus->min_us = rtt_us;
	verus->epoch_max_us = max(verus->epoch_max_us, rtt_us);
	if (verus->in_loss)
		verus_recover(verus, rs);
	else
		verus_profile_add(&verus->profile, sent_window, rtt_us);
	if (!verus->slow_start)
		return;
	verus->window = min_t(u32, verus->window + rs->acked_sacked, VERUS_MAX_WINDOW);
	if (rtt_us > VERUS_SLOW_START_US) {
		verus_end_slow_start(verus);
		verus_enter_loss(tp, verus, sent_window);
		verus->aim_us = div_u64(verus_most_us(verus) * VERUS_EXIT_PERCENT, 100);
	}
}

static CONG_CONTROL(verus_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct verus *verus = verus_of(sk);

	if (!verus)
		return;
	verus_advance(verus, tp->tcp_mstamp);
	if (rs->rtt_us > 0 && rs->delivered >= 0)
		verus_sample(tp, verus, rs);
	tcp_snd_cwnd_set(tp, min(recovery_window(sk, rs, verus->window, 0),
				 tp->snd_cwnd_clamp));
}

/* Called once per loss event. */
static u32 verus_ssthresh(struct sock *sk)
{
	struct verus *verus = verus_of(sk);

	if (verus && inet_csk(sk)->icsk_ca_state != TCP_CA_Loss) {
		if (verus->slow_start)
			verus_end_slow_start(verus);
		if (!verus->in_loss)
			verus_enter_loss(tcp_sk(sk), verus, verus->window);
	}
	return max(tcp_snd_cwnd(tcp_sk(sk)), VERUS_MIN_WINDOW);
}

static void verus_restart(struct sock *sk, struct verus *verus)
{
	memset(verus, 0, sizeof(*verus));
	verus->slow_start = 1;
	verus->window = VERUS_MIN_WINDOW;
	verus->epoch_us = tcp_sk(sk)->tcp_mstamp;
	verus->acked_us = verus->epoch_us;
}

static void verus_set_state(struct sock *sk, u8 state)
{
	struct verus *verus = verus_of(sk);

	if (verus && state == TCP_CA_Loss && inet_csk(sk)->icsk_ca_state != TCP_CA_Loss)
		verus_restart(sk, verus);
}

static u32 verus_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* Verus reports its state in the structure of Vegas. */
static size_t verus_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct verus *verus = verus_of(sk);

	if (!verus || !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info) {
		.tcpv_enabled = verus->slow_start ? 0 : verus->in_loss ? 1 : 2,
		.tcpv_rttcnt = verus->window,
		.tcpv_rtt = verus->aim_us,
		.tcpv_minrtt = verus->min_us,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(info->vegas);
}

LARGE_STATE_RENO(verus_reno, "verus_reno");

static void verus_init(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct verus *verus = large_state_begin(sk, sizeof(*verus), &verus_reno);

	if (!verus)
		return;
	verus_restart(sk, verus);
	verus->window = tcp_snd_cwnd(tp);
}

static struct tcp_congestion_ops verus __read_mostly = {
	.name		= "verus",
	.owner		= THIS_MODULE,
	.init		= verus_init,
	.release	= large_state_end,
	.cong_control	= verus_cong_control,
	.ssthresh	= verus_ssthresh,
	.set_state	= verus_set_state,
	.undo_cwnd	= verus_undo_cwnd,
	.get_info	= verus_get_info,
};

static int __init verus_register(void)
{
	return tcp_register_congestion_control(&verus);
}

static void __exit verus_unregister(void)
{
	tcp_unregister_congestion_control(&verus);
}

module_init(verus_register);
module_exit(verus_unregister);

MODULE_DESCRIPTION("Verus: the window of a delay, by a profile of delays over windows");
MODULE_LICENSE("GPL");

#define INFO	CCA_INFO("phase:u32:slow_start/loss/epochs|window_packets|" \
			 "aim_ms:u32:0.001|min_rtt_ms:u32:0.001")

CCBENCH_CCA(verus, INFO, "Verus");
