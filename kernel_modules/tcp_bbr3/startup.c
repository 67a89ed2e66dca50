// SPDX-License-Identifier: GPL-2.0
/* Startup and Drain ("Startup", "Drain"). */
#include "bbr3.h"

/* Rounds with little growth that show a full pipe. */
#define FULL_BW_ROUNDS	3
/* Rounds after which Drain ends in any case. */
#define DRAIN_ROUNDS	3

/* CheckFullBWReached(): growth of less than a quarter in three rounds */
void bbr3_check_full_bw_reached(struct bbr3 *bbr, const struct bbr3_sample *rs)
{
	if (bbr->full_bw_now || !bbr->round_start || rs->is_app_limited || !rs->delivery_rate)
		return;
	if (rs->delivery_rate >= bbr->full_bw + bbr->full_bw / 4) {
		bbr3_reset_full_bw(bbr);
		bbr->full_bw = rs->delivery_rate;
		return;
	}
	bbr->full_bw_count++;
	bbr->full_bw_now = bbr->full_bw_count >= FULL_BW_ROUNDS;
	if (bbr->full_bw_now)
		bbr->full_bw_reached = true;
}

/* The last round of Startup lost too much ("Exiting Startup Based on Packet Loss"). */
static bool is_startup_loss_high(const struct sock *sk, const struct bbr3 *bbr,
				 const struct bbr3_sample *rs)
{
	const u8 state = inet_csk(sk)->icsk_ca_state;

	/* After a timeout, a round may have lasted for several: its rate says nothing of the pipe. */
	if (!bbr->loss_round_start || (state != TCP_CA_Recovery && state != TCP_CA_CWR))
		return false;
	if (!tcp_is_sack(tcp_sk(sk)))
		return bbr->lost_ranges;
	return !before(rs->prior_delivered, bbr->recovery_delivered) &&
	       bbr->lost_ranges >= bbr3_full_loss_count &&
	       bbr3_is_inflight_too_high(sk, rs);
}

/* CheckStartupHighLoss() */
static void check_startup_high_loss(const struct sock *sk, struct bbr3 *bbr,
				    const struct bbr3_sample *rs)
{
	if (bbr->phase == BBR3_STARTUP && is_startup_loss_high(sk, bbr, rs)) {
		bbr->undo_phase = BBR3_STARTUP;
		bbr->full_bw_now = true;
		bbr->full_bw_reached = true;
		bbr->inflight_longterm = max(bbr3_bdp_multiple(sk, bbr, bbr->bw, 100),
					     bbr->inflight_latest);
	}
	if (bbr->loss_round_start)
		bbr->lost_ranges = 0;
}

/* CheckStartupDone() */
void bbr3_check_startup_done(const struct sock *sk, struct bbr3 *bbr,
			     const struct bbr3_sample *rs)
{
	check_startup_high_loss(sk, bbr, rs);
	if (bbr->phase == BBR3_STARTUP && bbr->full_bw_reached)
		bbr3_enter_drain(bbr);
}

/* CheckDrainDone() and EnterProbeBW() */
void bbr3_check_drain_done(const struct sock *sk, struct bbr3 *bbr)
{
	if (bbr->phase == BBR3_DRAIN &&
	    (tcp_packets_in_flight(tcp_sk(sk)) <= bbr3_inflight(sk, bbr, bbr->bw) ||
	     bbr->round_count - bbr->drain_start_round > DRAIN_ROUNDS))
		bbr3_start_probe_bw_down(sk, bbr);
}
