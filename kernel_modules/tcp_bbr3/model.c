// SPDX-License-Identifier: GPL-2.0
/* The model of the path ("Updating Network Path Model Parameters"). */
#include "bbr3.h"

/* Rounds over which the aggregation is the maximum: ExtraAckedFilterLen. */
#define EXTRA_ACKED_ROUNDS	10

/* ---- rounds ("BBR.round_count: Tracking Packet-Timed Round Trips") ---- */

/* StartRound() */
void bbr3_start_round(const struct sock *sk, struct bbr3 *bbr)
{
	bbr->next_round_delivered = tcp_sk(sk)->delivered;
}

/* UpdateRound() */
static void update_round(const struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs)
{
	bbr->round_start = rs->has_data &&
			   !before(rs->prior_delivered, bbr->next_round_delivered);
	if (!bbr->round_start)
		return;
	bbr3_start_round(sk, bbr);
	bbr->round_count++;
	bbr->rounds_since_probe_up++;
}

/* ---- bandwidth ("BBR.max_bw: Estimated Maximum Bandwidth") ------------ */

/* UpdateMaxBw() */
static void update_max_bw(const struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs)
{
	update_round(sk, bbr, rs);
	if (!rs->delivery_rate || (rs->delivery_rate < bbr->max_bw && rs->is_app_limited))
		return;
	bbr->max_bw_of_cycle[1] = max(bbr->max_bw_of_cycle[1], rs->delivery_rate);
	bbr->max_bw = max(bbr->max_bw_of_cycle[0], bbr->max_bw_of_cycle[1]);
}

/* AdvanceMaxBwFilter(). A cycle without samples forgets nothing. */
void bbr3_advance_max_bw_filter(struct bbr3 *bbr)
{
	if (!bbr->max_bw_of_cycle[1])
		return;
	bbr->max_bw_of_cycle[0] = bbr->max_bw_of_cycle[1];
	bbr->max_bw_of_cycle[1] = 0;
}

/* BoundBWForModel() */
void bbr3_bound_bw_for_model(struct bbr3 *bbr)
{
	bbr->bw = min(bbr->max_bw, bbr->bw_shortterm);
}

/* ---- the short-term model ("When not Probing for Bandwidth") ---------- */

/* UpdateLatestDeliverySignals() */
void bbr3_update_latest_delivery_signals(const struct sock *sk, struct bbr3 *bbr,
					 const struct bbr3_sample *rs)
{
	bbr->loss_round_start = false;
	if (!rs->has_data)
		return;
	bbr->bw_latest = max(bbr->bw_latest, rs->delivery_rate);
	bbr->inflight_latest = max(bbr->inflight_latest, rs->delivered);
	if (!before(rs->prior_delivered, bbr->loss_round_delivered)) {
		bbr->loss_round_delivered = tcp_sk(sk)->delivered;
		bbr->loss_round_start = true;
	}
}

/* AdvanceLatestDeliverySignals() */
void bbr3_advance_latest_delivery_signals(struct bbr3 *bbr, const struct bbr3_sample *rs)
{
	if (!bbr->loss_round_start)
		return;
	bbr->bw_latest = rs->delivery_rate;
	bbr->inflight_latest = rs->delivered;
}

/* ResetCongestionSignals() */
void bbr3_reset_congestion_signals(struct bbr3 *bbr)
{
	bbr->is_loss_in_round = false;
	bbr->bw_latest = 0;
	bbr->inflight_latest = 0;
}

/* ResetShortTermModel() */
void bbr3_reset_short_term_model(struct bbr3 *bbr)
{
	bbr->bw_shortterm = BBR3_INFINITE_BW;
	bbr->inflight_shortterm = BBR3_INFINITE;
}

/* IsProbingBW() ("ProbeBW Algorithm Details") */
static bool is_probing_bw(const struct bbr3 *bbr)
{
	return bbr->phase == BBR3_STARTUP || bbr->phase == BBR3_REFILL || bbr->phase == BBR3_UP;
}

/* AdaptLowerBoundsFromCongestion(), InitLowerBounds() and LossLowerBounds() */
static void adapt_lower_bounds(const struct sock *sk, struct bbr3 *bbr)
{
	u64 inflight;

	if (is_probing_bw(bbr) || !bbr->is_loss_in_round)
		return;
	if (bbr->bw_shortterm == BBR3_INFINITE_BW)
		bbr->bw_shortterm = bbr->max_bw;
	if (bbr->inflight_shortterm == BBR3_INFINITE)
		bbr->inflight_shortterm = tcp_snd_cwnd(tcp_sk(sk));
	bbr->bw_shortterm = max(bbr->bw_latest,
				div_u64(bbr->bw_shortterm * bbr3_beta_percent, 100));
	inflight = div_u64((u64)bbr->inflight_shortterm * bbr3_beta_percent, 100);
	bbr->inflight_shortterm = max_t(u32, bbr->inflight_latest, inflight);
}

/* UpdateCongestionSignals() */
void bbr3_update_congestion_signals(const struct sock *sk, struct bbr3 *bbr,
				    const struct bbr3_sample *rs)
{
	update_max_bw(sk, bbr, rs);
	if (!bbr->loss_round_start)
		return;
	adapt_lower_bounds(sk, bbr);
	bbr->is_loss_in_round = false;
}

/* ---- aggregation ("BBR.extra_acked") ---------------------------------- */

/* UpdateACKAggregation() */
void bbr3_update_ack_aggregation(const struct sock *sk, struct bbr3 *bbr,
				 const struct bbr3_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 interval_us = tp->tcp_mstamp - bbr->extra_acked_interval_start_us;
	u64 expected = mul_u64_u64_div_u64(bbr->bw, interval_us,
					   (u64)USEC_PER_SEC * tp->mss_cache);
	u32 extra;

	if (bbr->extra_acked_delivered <= expected) {
		bbr->extra_acked_delivered = 0;
		bbr->extra_acked_interval_start_us = tp->tcp_mstamp;
		expected = 0;
	}
	bbr->extra_acked_delivered += rs->newly_acked;
	extra = min_t(u64, bbr->extra_acked_delivered - expected, tcp_snd_cwnd(tp));
	bbr->extra_acked = minmax_running_max(&bbr->extra_acked_filter,
					      bbr->full_bw_reached ? EXTRA_ACKED_ROUNDS : 1,
					      bbr->round_count, extra);
}
