// SPDX-License-Identifier: GPL-2.0
/* Entries of the phases; losses, Startup and ProbeBW decide about them. */
#include <linux/random.h>

#include "bbr3.h"

/* EnterStartup() */
void bbr3_enter_startup(struct bbr3 *bbr)
{
	bbr->phase = BBR3_STARTUP;
}

/* ResetFullBW() */
void bbr3_reset_full_bw(struct bbr3 *bbr)
{
	bbr->full_bw = 0;
	bbr->full_bw_count = 0;
	bbr->full_bw_now = false;
}

/* EnterDrain() */
void bbr3_enter_drain(struct bbr3 *bbr)
{
	bbr->phase = BBR3_DRAIN;
	bbr->drain_start_round = bbr->round_count;
}

/* PickProbeWait() */
static void pick_probe_wait(struct bbr3 *bbr)
{
	const u32 random_us = bbr3_bw_probe_wait_random_ms * USEC_PER_MSEC;

	bbr->rounds_since_probe_up = get_random_u32() & 1;
	bbr->bw_probe_wait_us = bbr3_bw_probe_wait_ms * USEC_PER_MSEC +
				reciprocal_scale(get_random_u32(), random_us + 1);
}

/* StartProbeBW_DOWN() */
void bbr3_start_probe_bw_down(const struct sock *sk, struct bbr3 *bbr)
{
	bbr3_reset_congestion_signals(bbr);
	bbr->probe_up_acked_per_inc = BBR3_INFINITE;
	pick_probe_wait(bbr);
	bbr->cycle_stamp_us = tcp_sk(sk)->tcp_mstamp;
	bbr->ack_phase = BBR3_ACKS_PROBE_STOPPING;
	bbr3_start_round(sk, bbr);
	bbr->phase = BBR3_DOWN;
}

/* StartProbeBW_CRUISE() */
void bbr3_start_probe_bw_cruise(struct bbr3 *bbr)
{
	bbr->phase = BBR3_CRUISE;
}

/* StartProbeBW_REFILL() */
void bbr3_start_probe_bw_refill(const struct sock *sk, struct bbr3 *bbr)
{
	bbr3_reset_short_term_model(bbr);
	bbr->bw_probe_up_rounds = 0;
	bbr->bw_probe_up_acked = 0;
	bbr->prev_probe_precautionary = false;
	bbr->ack_phase = BBR3_ACKS_REFILLING;
	bbr3_start_round(sk, bbr);
	bbr->phase = BBR3_REFILL;
}
