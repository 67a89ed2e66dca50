// SPDX-License-Identifier: GPL-2.0
/* Probing for the minimum RTT ("ProbeRTT"). */
#include "bbr3.h"

/* UpdateMinRTT() */
void bbr3_update_min_rtt(const struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs)
{
	const u64 now_us = tcp_sk(sk)->tcp_mstamp;

	bbr->probe_rtt_expired = now_us > bbr->probe_rtt_min_stamp_us +
				 (u64)bbr3_probe_rtt_interval_ms * USEC_PER_MSEC;
	if (rs->rtt_us >= 0 &&
	    (rs->rtt_us < bbr->probe_rtt_min_delay_us || bbr->probe_rtt_expired)) {
		bbr->probe_rtt_min_delay_us = max(rs->rtt_us, 1L);
		bbr->probe_rtt_min_stamp_us = now_us;
	}
	if (bbr->probe_rtt_min_delay_us < bbr->min_rtt_us ||
	    now_us > bbr->min_rtt_stamp_us + (u64)bbr3_min_rtt_filter_ms * USEC_PER_MSEC) {
		bbr->min_rtt_us = bbr->probe_rtt_min_delay_us;
		bbr->min_rtt_stamp_us = bbr->probe_rtt_min_stamp_us;
	}
}

/* ExitProbeRTT() */
static void exit_probe_rtt(const struct sock *sk, struct bbr3 *bbr)
{
	bbr3_reset_short_term_model(bbr);
	if (bbr->full_bw_reached) {
		bbr3_start_probe_bw_down(sk, bbr);
		bbr3_start_probe_bw_cruise(bbr);
	} else {
		bbr3_enter_startup(bbr);
	}
}

/* CheckProbeRTTDone() */
void bbr3_check_probe_rtt_done(struct sock *sk, struct bbr3 *bbr)
{
	const u64 now_us = tcp_sk(sk)->tcp_mstamp;

	if (!bbr->probe_rtt_done_stamp_us || now_us <= bbr->probe_rtt_done_stamp_us)
		return;
	bbr->probe_rtt_min_stamp_us = now_us;
	bbr3_restore_cwnd(sk, bbr);
	exit_probe_rtt(sk, bbr);
}

/* HandleProbeRTT() */
static void handle_probe_rtt(struct sock *sk, struct bbr3 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 inflight = tcp_packets_in_flight(tp);

	tp->app_limited = (tp->delivered + inflight) ?: 1;
	if (bbr->probe_rtt_done_stamp_us) {
		if (bbr->round_start)
			bbr->probe_rtt_round_done = true;
		if (bbr->probe_rtt_round_done)
			bbr3_check_probe_rtt_done(sk, bbr);
	} else if (inflight <= bbr3_probe_rtt_cwnd(sk, bbr)) {
		bbr->probe_rtt_done_stamp_us = tp->tcp_mstamp +
					       bbr3_probe_rtt_duration_ms * USEC_PER_MSEC;
		bbr->probe_rtt_round_done = false;
		bbr3_start_round(sk, bbr);
	}
}

/* CheckProbeRTT() and EnterProbeRTT() */
void bbr3_check_probe_rtt(struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs)
{
	if (bbr->phase != BBR3_PROBE_RTT && bbr->probe_rtt_expired && !bbr->idle_restart) {
		bbr3_save_cwnd(sk, bbr);
		bbr->phase = BBR3_PROBE_RTT;
		bbr->probe_rtt_done_stamp_us = 0;
		bbr->ack_phase = BBR3_ACKS_PROBE_STOPPING;
		bbr3_start_round(sk, bbr);
	}
	if (bbr->phase == BBR3_PROBE_RTT)
		handle_probe_rtt(sk, bbr);
	if (rs->delivered > 0)
		bbr->idle_restart = false;
}
