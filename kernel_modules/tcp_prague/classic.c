// SPDX-License-Identifier: GPL-2.0
/*
 * Detection of a classic AQM that marks ECN-capable packets (RFC 9331, section 4.3), by the
 * variation of RTTs (Briscoe and Ahmed, "TCP Prague Fall-back on Detection of a Classic ECN
 * AQM", arXiv 1911.00710).
 *
 * The queue of an AQM for L4S varies by much less than a millisecond, that of a classic one
 * by several. In each round with marks, the score therefore changes by
 *
 *	1/2 lg(v / max(750 us, t))	v: mean deviation of RTTs
 *	1/2 lg(d / max(2 ms, 3 t))	d: mean queueing delay; not below 2 ms
 *
 * where t is the time between packets. The paper has no t, and states the limit of that: a
 * link that needs a millisecond or more for a packet varies as a classic AQM does.
 *
 * The score is sticky: 0 to 8 for an AQM of L4S, 9 to 17 for a classic one. In between, the
 * share of the classic response rises from 0 to 1.
 *
 * The averages extend over many oscillations of the window, whose length grows with the
 * window: the gain of an RTT is 2^-(1.5 lg(window) + 1).
 */
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/module.h>

#include "prague.h"

#define RTT_SHIFT		20
#define MAX_GAIN_SHIFT		18

/* Logarithms and scores are in units of 2^-8. */
#define LG_SHIFT		8
#define DEVIATION_US		750U
#define DELAY_US		2000U
#define DELAY_PACKETS		3
#define STICKY			(8 << LG_SHIFT)
#define MAX_SCORE		(2 * STICKY + (1 << LG_SHIFT))

static bool classic_fallback = true;
module_param(classic_fallback, bool, 0644);
MODULE_PARM_DESC(classic_fallback, "respond as Reno to the marks of an AQM that looks like a classic one");

/* Binary logarithm, by linear interpolation between powers of 2: at most 0.09 too low. */
static s32 lg(u64 x)
{
	u32 whole = ilog2(max(x, 1ULL));
	u32 fraction = whole ? ((x << 1) - (2ULL << whole)) << (LG_SHIFT - 1) >> whole : 0;

	return (whole << LG_SHIFT) + fraction;
}

/* Includes an RTT in the averages. */
void prague_classic_sample(struct prague *prague, u32 rtt_us)
{
	u32 window_lg = ilog2(max(prague->window >> PRAGUE_SHIFT, 1ULL));
	u32 gain_shift = min(window_lg * 3 / 2 + 1, MAX_GAIN_SHIFT);
	u64 rtt = (u64)rtt_us << RTT_SHIFT;
	u64 deviation;

	if (!prague->rtt_mean) {
		prague->rtt_mean = rtt;
		return;
	}
	deviation = rtt > prague->rtt_mean ? rtt - prague->rtt_mean : prague->rtt_mean - rtt;
	prague->rtt_mean += ((s64)(rtt - prague->rtt_mean)) >> gain_shift;
	prague->rtt_deviation += ((s64)(deviation - prague->rtt_deviation)) >> (gain_shift + 1);
}

/* Changes the score at the end of a round with marks. */
void prague_classic_round(const struct tcp_sock *tp, struct prague *prague)
{
	u32 mean_us = prague->rtt_mean >> RTT_SHIFT;
	u32 delay_us = mean_us - min(mean_us, tcp_min_rtt(tp));
	u64 packet_us = div64_u64((u64)prague_rtt_us(tp) << PRAGUE_SHIFT, prague->window);
	s32 score = prague->classic_score;

	score += (lg(prague->rtt_deviation >> RTT_SHIFT) - lg(max(packet_us, DEVIATION_US))) / 2;
	if (delay_us > DELAY_US)
		score += (lg(delay_us) - lg(max(DELAY_PACKETS * packet_us, DELAY_US))) / 2;
	prague->classic_score = clamp(score, 0, MAX_SCORE);
}

/* Returns the degree to which the AQM looks like a classic one. */
u32 prague_classic_share(const struct prague *prague)
{
	u32 above = prague->classic_score - min_t(u32, prague->classic_score, STICKY);

	return min(above << (PRAGUE_CLASSIC_SHIFT - LG_SHIFT), PRAGUE_CLASSIC_ONE);
}

/* Returns the share of the classic response: 1 without AccECN, as the average is unknown. */
u32 prague_classic_response(const struct prague *prague)
{
	if (!prague->accecn)
		return PRAGUE_CLASSIC_ONE;
	return READ_ONCE(classic_fallback) ? prague_classic_share(prague) : 0;
}
