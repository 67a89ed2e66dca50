// SPDX-License-Identifier: GPL-2.0
/* Probing for bandwidth ("ProbeBW"). */
#include "bbr3.h"

/* Limit of the doublings of the growth of inflight_longterm. */
#define MAX_UP_ROUNDS	30

/* RaiseInflightLongtermSlope(): the growth per round doubles each round */
static void raise_inflight_longterm_slope(const struct sock *sk, struct bbr3 *bbr)
{
	u32 growth_this_round = 1U << bbr->bw_probe_up_rounds;

	bbr->bw_probe_up_rounds = min_t(u32, bbr->bw_probe_up_rounds + 1, MAX_UP_ROUNDS);
	bbr->probe_up_acked_per_inc = max(tcp_snd_cwnd(tcp_sk(sk)) / growth_this_round, 1U);
}

/* StartProbeBW_UP() */
static void start_probe_bw_up(const struct sock *sk, struct bbr3 *bbr,
			      const struct bbr3_sample *rs)
{
	bbr->ack_phase = BBR3_ACKS_PROBE_STARTING;
	bbr3_start_round(sk, bbr);
	bbr3_reset_full_bw(bbr);
	bbr->full_bw = rs->delivery_rate;
	bbr->phase = BBR3_UP;
	raise_inflight_longterm_slope(sk, bbr);
}

/* The window, and with it inflight_longterm, limits what is in flight. */
static bool is_limited_by_inflight_longterm(const struct sock *sk, const struct bbr3 *bbr)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->is_cwnd_limited && tcp_snd_cwnd(tp) >= bbr->inflight_longterm;
}

/* ProbeInflightLongtermUpward() */
static void probe_inflight_longterm_upward(const struct sock *sk, struct bbr3 *bbr,
					   const struct bbr3_sample *rs)
{
	u32 delta;

	if (!is_limited_by_inflight_longterm(sk, bbr))
		return;
	bbr->bw_probe_up_acked += rs->newly_acked;
	if (bbr->bw_probe_up_acked >= bbr->probe_up_acked_per_inc) {
		delta = bbr->bw_probe_up_acked / bbr->probe_up_acked_per_inc;
		bbr->bw_probe_up_acked -= delta * bbr->probe_up_acked_per_inc;
		bbr->inflight_longterm = min_t(u64, (u64)bbr->inflight_longterm + delta,
					       BBR3_INFINITE - 1);
	}
	if (bbr->round_start)
		raise_inflight_longterm_slope(sk, bbr);
}

/*
 * The end of the ACKs of a probe: the maximum of bandwidth begins a new cycle, and a precautionary
 * probe that went well is followed by a full one. Returns true if that has begun.
 */
static bool end_probe_feedback(const struct sock *sk, struct bbr3 *bbr,
			       const struct bbr3_sample *rs)
{
	bbr->is_bw_probe_sample = false;
	bbr->ack_phase = BBR3_ACKS_INIT;
	if (!bbr3_in_probe_bw(bbr))
		return false;
	if (!rs->is_app_limited)
		bbr3_advance_max_bw_filter(bbr);
	if (!bbr->prev_probe_precautionary || bbr->prev_probe_too_high)
		return false;
	bbr3_start_probe_bw_refill(sk, bbr);
	return true;
}

/* AdaptLongTermModel(). Returns true if it decided a transition. */
static bool adapt_long_term_model(const struct sock *sk, struct bbr3 *bbr,
				  const struct bbr3_sample *rs)
{
	if (bbr->ack_phase == BBR3_ACKS_PROBE_STARTING && bbr->round_start)
		bbr->ack_phase = BBR3_ACKS_PROBE_FEEDBACK;
	if (bbr->ack_phase == BBR3_ACKS_PROBE_STOPPING && bbr->round_start &&
	    end_probe_feedback(sk, bbr, rs))
		return true;
	if (!rs->has_data || bbr3_is_inflight_too_high(sk, rs) ||
	    bbr->inflight_longterm == BBR3_INFINITE)
		return false;
	bbr->inflight_longterm = max(bbr->inflight_longterm, rs->tx_in_flight);
	if (bbr->phase == BBR3_UP)
		probe_inflight_longterm_upward(sk, bbr, rs);
	return false;
}

/* IsTimeToProbeBW() and IsRenoCoexistenceProbeTime() */
static bool is_time_to_probe_bw(const struct sock *sk, const struct bbr3 *bbr)
{
	u32 reno_rounds = min(bbr3_target_inflight(sk, bbr), bbr3_bw_probe_max_rounds);

	return tcp_sk(sk)->tcp_mstamp > bbr->cycle_stamp_us + bbr->bw_probe_wait_us ||
	       bbr->rounds_since_probe_up >= reno_rounds;
}

/* IsTimeToCruise() */
static bool is_time_to_cruise(const struct sock *sk, const struct bbr3 *bbr)
{
	u32 inflight = tcp_packets_in_flight(tcp_sk(sk));

	return inflight <= bbr3_inflight_with_headroom(bbr) &&
	       inflight <= bbr3_inflight(sk, bbr, bbr->max_bw);
}

/* IsTimeToGoDown() */
static bool is_time_to_go_down(const struct sock *sk, struct bbr3 *bbr,
			       const struct bbr3_sample *rs)
{
	if (bbr->prev_probe_too_high &&
	    tcp_packets_in_flight(tcp_sk(sk)) >= bbr->inflight_longterm) {
		bbr->prev_probe_precautionary = true;
		return true;
	}
	if (is_limited_by_inflight_longterm(sk, bbr)) {
		bbr3_reset_full_bw(bbr);
		bbr->full_bw = rs->delivery_rate;
		return false;
	}
	return bbr->full_bw_now;
}

/* UpdateProbeBWCyclePhase() */
void bbr3_update_probe_bw_cycle_phase(const struct sock *sk, struct bbr3 *bbr,
				      const struct bbr3_sample *rs)
{
	if (!bbr->full_bw_reached || adapt_long_term_model(sk, bbr, rs))
		return;
	switch (bbr->phase) {
	case BBR3_DOWN:
		if (is_time_to_probe_bw(sk, bbr))
			bbr3_start_probe_bw_refill(sk, bbr);
		else if (is_time_to_cruise(sk, bbr))
			bbr3_start_probe_bw_cruise(bbr);
		break;
	case BBR3_CRUISE:
		if (is_time_to_probe_bw(sk, bbr))
			bbr3_start_probe_bw_refill(sk, bbr);
		break;
	case BBR3_REFILL:
		if (bbr->round_start) {
			bbr->is_bw_probe_sample = true;
			start_probe_bw_up(sk, bbr, rs);
		}
		break;
	case BBR3_UP:
		if (is_time_to_go_down(sk, bbr, rs)) {
			bbr->prev_probe_too_high = false;
			bbr3_start_probe_bw_down(sk, bbr);
		}
		break;
	default:
		break;
	}
}
