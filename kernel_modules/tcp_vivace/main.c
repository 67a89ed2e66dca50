// SPDX-License-Identifier: GPL-2.0
/*
 * PCC Vivace (Dong et al., NSDI 2018): the rate that maximises a utility, by online learning.
 *
 * The sender measures each interval of about a round trip. Its utility is
 *
 *	u(x) = x^0.9 - b x max(d(RTT)/dT, 0) - c x L
 *
 * where x is the rate in Mbit/s, d(RTT)/dT the slope of RTTs over the times of sending, and L the
 * share of lost packets; b = 900 and c = 11.35. With b = 0, only loss limits the rate.
 *
 *	starting	the rate doubles per interval until the utility decreases
 *	probing		one interval at (1 + e) r and one at (1 - e) r, e = 5 %, in random order
 *	waiting		at r, until the last packets of both are acknowledged
 *	deciding	r += m(t) g, where g is the difference of the utilities divided by that of
 *			the rates, and m the confidence: t for t <= 3, else 2t - 3, with t
 *			decisions in the same direction. A step is at most w r, where w begins
 *			with 5 %, and grows by 10 points for each further step that exceeds it
 *
 * Packets belong to an interval by the number of packets that had been delivered when they were
 * sent, as in Linux's rate samples.
 *
 * Decisions where the paper is silent or leaves a choice:
 *
 * 1. An interval has at least ten packets, and at least a smoothed RTT.
 * 2. Lost packets count in the interval whose ACKs arrive when Linux marks them, about a quarter
 *    of a round trip later than their own.
 * 3. A slope below 1 % is noise, and counts as 0.
 * 4. An interval in which the application sent less than the rate counts for nothing, and the
 *    rate does not double after it.
 * 5. The window is twice rate times smoothed RTT, so that it does not limit the flow, also in
 *    recovery from losses: a window that follows the arrivals (RFC 9937) would hide from both
 *    probes that their rates differ.
 * 6. A retransmission timeout halves the rate, and starts again.
 * 7. The rate is at least two packets per round trip.
 *
 * As published, a flow needs seconds to converge: an interval is a round trip, and a decision takes
 * four.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/random.h>
#include <net/tcp.h>

#include "bounded_param.h"
#include "cca_compat.h"
#include "ccbench_describe.h"
#include "large_state.h"
#include "utility.h"

#define VIVACE_INTERVALS	4U	/* that may be under way */
#define VIVACE_MIN_PACKETS	10U	/* of an interval */
#define VIVACE_MIN_PER_RTT	2U
#define VIVACE_PROBE_PERCENT	5
#define VIVACE_NOISE		(VIVACE_ONE / 100)	/* of the slope */
#define VIVACE_BOUND_PERCENT	5
#define VIVACE_BOUND_STEP	10	/* per cent */
#define VIVACE_MAX_BOUNDS	9	/* a step of at most 95 % */
#define VIVACE_MAX_TREND	100
#define VIVACE_WINDOW_GAIN	2
#define VIVACE_INIT_KBPS	1000
#define VIVACE_MAX_KBPS		100000000

static unsigned int latency = 900000;
static unsigned int loss = 11350;

BOUNDED_PARAM(latency, latency, 0, 10000000, 0644, "b, in thousandths");
BOUNDED_PARAM(loss, loss, 0, 1000000, 0644, "c, in thousandths");

enum purpose { NOTHING, START, ABOVE, BELOW };

/* An interval, from its first packet to that of the next. */
struct interval {
	u32	delivered;	/* tp->delivered at its start */
	u32	kbps;
	u8	purpose;
	u8	is_limited : 1;	/* by the application */
};

struct vivace {
	struct interval	intervals[VIVACE_INTERVALS];	/* the first that is not complete, ... */
	struct vivace_line line;	/* of the first */
	u32	first_delivered;	/* when its first ACK arrived */
	u32	first_lost;
	u32	since_us;		/* start of the last */
	u32	since_sent;		/* tp->data_segs_out at that time */
	u32	kbps;
	s64	utility[2];		/* of both probes; of the previous interval when starting */
	u8	count;			/* intervals */
	u8	bounds;			/* steps in a row that exceeded their bound */
	u8	trend;			/* decisions in this direction */
	u8	starting : 1,
		has_previous : 1,	/* utility when starting */
		up : 1,			/* direction of the last decision */
		above_first : 1,	/* of the two probes */
		probes : 2,		/* sent */
		known : 2;		/* utilities of probes: 1 above, 2 below */
};

static struct vivace *vivace_of(const struct sock *sk)
{
	return large_state(sk);
}

static u32 vivace_srtt_us(const struct tcp_sock *tp)
{
	return max(tp->srtt_us >> 3, 1U);
}

static u32 vivace_bounded(const struct sock *sk, u64 kbps)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 least = div_u64((u64)VIVACE_MIN_PER_RTT * tp->mss_cache * BITS_PER_BYTE * USEC_PER_MSEC,
			    vivace_srtt_us(tp));

	return clamp_t(u64, kbps, max(least, 1ULL), VIVACE_MAX_KBPS);
}

static void vivace_send_at(struct sock *sk, u32 kbps)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)kbps * 1000 / BITS_PER_BYTE;
	u64 window = rate * VIVACE_WINDOW_GAIN * vivace_srtt_us(tp);

	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
	window = div_u64(div_u64(window, USEC_PER_SEC), tp->mss_cache);
	tcp_snd_cwnd_set(tp, clamp_t(u64, window, VIVACE_MIN_PACKETS, tp->snd_cwnd_clamp));
}

static void vivace_begin(struct sock *sk, enum purpose purpose, u32 kbps)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *vivace = vivace_of(sk);

	vivace->intervals[vivace->count++] = (struct interval) {
		.delivered = tp->delivered,
		.kbps = kbps,
		.purpose = purpose,
	};
	vivace->since_us = tp->tcp_mstamp;
	vivace->since_sent = tp->data_segs_out;
	vivace_send_at(sk, kbps);
}

/* Begins the next interval, or lets the last one go on if too many are under way. */
static void vivace_next(struct sock *sk)
{
	struct vivace *vivace = vivace_of(sk);
	s64 probe = (s64)vivace->kbps * VIVACE_PROBE_PERCENT;
	bool above;

	if (vivace->count == VIVACE_INTERVALS)
		return;
	if (vivace->starting) {
		if (!tcp_sk(sk)->app_limited)
			vivace->kbps = vivace_bounded(sk, 2ULL * vivace->kbps);
		vivace_begin(sk, START, vivace->kbps);
	} else if (vivace->probes < 2) {
		if (!vivace->probes)
			vivace->above_first = get_random_u32() & 1;
		above = vivace->above_first != vivace->probes;
		vivace->probes++;
		vivace_begin(sk, above ? ABOVE : BELOW,
			     vivace->kbps + div_s64(above ? probe : -probe, 100));
	} else if (vivace->intervals[vivace->count - 1].purpose != NOTHING) {
		vivace_begin(sk, NOTHING, vivace->kbps);
	}
}

static void vivace_probe_again(struct vivace *vivace)
{
	vivace->probes = 0;
	vivace->known = 0;
}

static void vivace_change(struct sock *sk, s64 step)
{
	struct vivace *vivace = vivace_of(sk);
	bool up = step > 0;
	s64 bound;
	u8 bounds;

	if (up != vivace->up) {
		vivace->up = up;
		vivace->trend = 0;
		vivace->bounds = 0;
	}
	vivace->trend = min(vivace->trend + 1, VIVACE_MAX_TREND);
	step *= vivace->trend <= 3 ? vivace->trend : 2 * vivace->trend - 3;

	/* The smallest bound that the step does not exceed, at most that of the last time and one. */
	for (bounds = 0; ; bounds++) {
		bound = div_s64((s64)vivace->kbps *
				(VIVACE_BOUND_PERCENT + bounds * VIVACE_BOUND_STEP), 100);
		if (abs(step) <= bound)
			break;
		if (bounds == vivace->bounds) {
			step = up ? bound : -bound;
			bounds = min(bounds + 1, VIVACE_MAX_BOUNDS);
			break;
		}
	}
	vivace->bounds = bounds;
	vivace->kbps = vivace_bounded(sk, max((s64)vivace->kbps + step, 1LL));
}

/* In kbit/s: the utilities are of Mbit/s, and so is the gradient's step. */
static void vivace_decide(struct sock *sk)
{
	struct vivace *vivace = vivace_of(sk);
	s64 difference = vivace->utility[0] - vivace->utility[1];
	s64 rates = max(2LL * vivace->kbps * VIVACE_PROBE_PERCENT / 100, 1LL);

	vivace_probe_again(vivace);
	if (difference)
		vivace_change(sk, div_s64(difference * 1000 / rates * 1000, VIVACE_ONE));
}

static void vivace_end_start(struct sock *sk, u32 kbps)
{
	struct vivace *vivace = vivace_of(sk);

	vivace->starting = 0;
	vivace->kbps = vivace_bounded(sk, kbps);
	tcp_sk(sk)->snd_ssthresh = tcp_snd_cwnd(tcp_sk(sk));
	vivace_probe_again(vivace);
}

/* Called when all packets of the first interval are acknowledged or lost. */
static void vivace_end_interval(struct sock *sk, const struct interval *interval)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *vivace = vivace_of(sk);
	u32 lost = tp->lost - vivace->first_lost;
	u32 sent = tp->delivered - vivace->first_delivered + lost;
	s64 slope = vivace_slope(&vivace->line);
	s64 utility;

	if (interval->is_limited || !sent) {
		if (interval->purpose == ABOVE || interval->purpose == BELOW)
			vivace_probe_again(vivace);
		return;
	}
	utility = vivace_utility(interval->kbps, slope < VIVACE_NOISE ? 0 : slope,
				 div_u64((u64)lost << VIVACE_BITS, sent),
				 READ_ONCE(latency), READ_ONCE(loss));
	switch (interval->purpose) {
	case START:
		if (!vivace->starting)
			break;
		if (vivace->has_previous && utility < vivace->utility[0])
			vivace_end_start(sk, interval->kbps / 2);
		vivace->utility[0] = utility;
		vivace->has_previous = 1;
		break;
	case ABOVE:
		vivace->utility[0] = utility;
		vivace->known |= 1;
		break;
	case BELOW:
		vivace->utility[1] = utility;
		vivace->known |= 2;
		break;
	}
	if (!vivace->starting && vivace->known == 3)
		vivace_decide(sk);
}

static void vivace_expect_first(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *vivace = vivace_of(sk);

	vivace->line = (struct vivace_line) { };
	vivace->first_delivered = tp->delivered;
	vivace->first_lost = tp->lost;
}

/* Assigns an ACK to its interval, after it has completed those before. */
static void vivace_sample(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *vivace = vivace_of(sk);
	struct interval ended;

	while (vivace->count > 1 && !before(rs->prior_delivered, vivace->intervals[1].delivered)) {
		ended = vivace->intervals[0];
		vivace->count--;
		memmove(vivace->intervals, vivace->intervals + 1,
			vivace->count * sizeof(vivace->intervals[0]));
		vivace_end_interval(sk, &ended);
		vivace_expect_first(sk);
	}
	if (before(rs->prior_delivered, vivace->intervals[0].delivered))
		return;
	if (rs->is_app_limited)
		vivace->intervals[0].is_limited = 1;
	if (rs->rtt_us > 0)
		vivace_add(&vivace->line, (u32)tp->tcp_mstamp - (u32)rs->rtt_us, rs->rtt_us);
}

static bool vivace_interval_is_over(const struct tcp_sock *tp, const struct vivace *vivace)
{
	return (u32)tp->tcp_mstamp - vivace->since_us >= vivace_srtt_us(tp) &&
	       tp->data_segs_out - vivace->since_sent >= VIVACE_MIN_PACKETS;
}

static CONG_CONTROL(vivace_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *vivace = vivace_of(sk);

	if (!vivace)
		return;
	if (rs->delivered >= 0 && rs->prior_mstamp)
		vivace_sample(sk, rs);
	/* A decision begins the next probe at once. */
	if (vivace_interval_is_over(tp, vivace) ||
	    (!vivace->starting && !vivace->probes &&
	     vivace->intervals[vivace->count - 1].purpose == NOTHING))
		vivace_next(sk);
	vivace_send_at(sk, vivace->intervals[vivace->count - 1].kbps);
}

static void vivace_restart(struct sock *sk, u32 kbps)
{
	struct vivace *vivace = vivace_of(sk);

	vivace->kbps = vivace_bounded(sk, kbps);
	vivace->starting = 1;
	vivace->has_previous = 0;
	vivace->trend = 0;
	vivace->bounds = 0;
	vivace->count = 0;
	vivace_probe_again(vivace);
	vivace_begin(sk, START, vivace->kbps);
	vivace_expect_first(sk);
}

static void vivace_set_state(struct sock *sk, u8 state)
{
	struct vivace *vivace = vivace_of(sk);

	if (vivace && state == TCP_CA_Loss && inet_csk(sk)->icsk_ca_state != TCP_CA_Loss)
		vivace_restart(sk, vivace->kbps / 2);
}

static u32 vivace_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static u32 vivace_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

/* Single packets, unless the rate is above one packet per ms. */
static u32 vivace_min_tso_segs(struct sock *sk)
{
	return 1;
}

/* Vivace reports its state in the structure of Vegas. */
static size_t vivace_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct vivace *vivace = vivace_of(sk);

	if (!vivace || !(ext & (1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	info->vegas = (struct tcpvegas_info) {
		.tcpv_enabled = !vivace->starting,
		.tcpv_rttcnt = vivace->kbps,
		.tcpv_rtt = vivace->up ? vivace->trend : -vivace->trend,
		.tcpv_minrtt = vivace->bounds,
	};
	*attr = INET_DIAG_VEGASINFO;
	return sizeof(info->vegas);
}

LARGE_STATE_RENO(vivace_reno, "vivace_reno");

static void vivace_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *vivace = large_state_begin(sk, sizeof(*vivace), &vivace_reno);
	u64 kbps = VIVACE_INIT_KBPS;

	if (!vivace)
		return;
	if (tp->srtt_us)
		kbps = div_u64((u64)tcp_snd_cwnd(tp) * tp->mss_cache * BITS_PER_BYTE *
			       USEC_PER_MSEC, vivace_srtt_us(tp));
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	vivace_restart(sk, min_t(u64, kbps, VIVACE_MAX_KBPS));
}

static struct tcp_congestion_ops vivace __read_mostly = {
	.name		= "vivace",
	.owner		= THIS_MODULE,
	.init		= vivace_init,
	.release	= large_state_end,
	.cong_control	= vivace_cong_control,
	.ssthresh	= vivace_ssthresh,
	.set_state	= vivace_set_state,
	.undo_cwnd	= vivace_undo_cwnd,
	.min_tso_segs	= vivace_min_tso_segs,
	.get_info	= vivace_get_info,
};

static int __init vivace_register(void)
{
	return tcp_register_congestion_control(&vivace);
}

static void __exit vivace_unregister(void)
{
	tcp_unregister_congestion_control(&vivace);
}

module_init(vivace_register);
module_exit(vivace_unregister);

MODULE_DESCRIPTION("PCC Vivace: online learning of the rate that maximises a utility");
MODULE_LICENSE("GPL");

/* Whether starting has ended, the rate, decisions in one direction, and the bound's steps. */
#define INFO	CCA_INFO("probing|rate_mbps:u32:0.001|trend:s32|bound_steps")

CCBENCH_CCA(vivace, INFO, "PCC Vivace");
