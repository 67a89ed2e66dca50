// SPDX-License-Identifier: GPL-2.0
/*
 * The delay-control mode.
 *
 * BasicDelay (4) takes a part of the spare capacity and keeps a queueing delay:
 *
 *	rate = S + alpha (mu - S - z) + beta mu / x (x_min + d_t - x)
 *
 * Vegas keeps 2 to 4 packets in the queue, by the minimum RTT of each round trip. Copa is the
 * default mode of Copa: 1/delta = 2 packets in the queue, with a velocity that doubles while
 * the direction is constant (tcp_copa.c describes both modes).
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "cubic_window.h"
#include "delay.h"

#define VEGAS_ALPHA	(2 * CUBIC_PACKET)
#define VEGAS_BETA	(4 * CUBIC_PACKET)
#define COPA_PACKETS	2	/* 1/delta */
#define COPA_STEADY	3	/* rounds until the velocity grows */

static void basic(struct nimbus_delay *delay, const struct nimbus_ack *ack)
{
	s64 spare = (s64)ack->link - ack->send - ack->cross;
	s64 late_us = (s64)ack->min_rtt_us + ack->target_us - ack->rtt_us;
	s64 rate = ack->send;

	rate += div_s64(spare * ack->alpha_permille, 1000);
	rate += div_s64(div_s64((s64)ack->link * late_us, ack->rtt_us) * ack->beta_permille, 1000);
	delay->rate = clamp_t(s64, rate, ack->least, min_t(u64, 2ULL * ack->link, U32_MAX));
}

/* Packets of a window in the queue: those beyond the window of the minimum RTT. */
static u64 waiting(u64 window, u32 rtt_us, u32 min_rtt_us)
{
	if (rtt_us <= min_rtt_us)
		return 0;
	return mul_u64_u32_div(window, rtt_us - min_rtt_us, rtt_us);
}

static void vegas_round(struct nimbus_delay *delay, const struct nimbus_ack *ack)
{
	u64 queued = waiting(delay->window, delay->round_rtt_us, ack->min_rtt_us);

	if (queued < VEGAS_ALPHA + ack->trough)
		delay->window += CUBIC_PACKET;
	else if (queued > VEGAS_BETA + ack->trough && delay->window > CUBIC_MIN_WINDOW)
		delay->window -= CUBIC_PACKET;
}

static void copa_round(struct nimbus_delay *delay)
{
	bool up = delay->window > delay->round_window;

	if (up != delay->up) {
		delay->up = up;
		delay->velocity = 1;
		delay->same_rounds = 0;
	} else if (++delay->same_rounds >= COPA_STEADY &&
		   2ULL * delay->velocity * COPA_PACKETS <= delay->window >> CUBIC_SHIFT) {
		delay->velocity *= 2;
	}
	delay->round_window = delay->window;
}

static void copa(struct nimbus_delay *delay, const struct nimbus_ack *ack)
{
	u32 standing_us = min(delay->round_rtt_us, ack->rtt_us);
	bool up = waiting(delay->window, standing_us, ack->min_rtt_us) <=
		  COPA_PACKETS * CUBIC_PACKET + ack->trough;
	u64 step;

	if (up != delay->up)
		delay->velocity = 1;
	step = mul_u64_u64_div_u64(ack->delivered,
				   (u64)delay->velocity * COPA_PACKETS * CUBIC_PACKET,
				   delay->window);
	if (up)
		delay->window += step;
	else
		delay->window -= min(step, delay->window - CUBIC_MIN_WINDOW);
}

static void next_round(struct nimbus_delay *delay, const struct nimbus_ack *ack)
{
	if (delay->kind == NIMBUS_VEGAS)
		vegas_round(delay, ack);
	else
		copa_round(delay);
	delay->round_us = ack->now_us;
	delay->round_rtt_us = ack->rtt_us;
}

void nimbus_delay_ack(struct nimbus_delay *delay, const struct nimbus_ack *ack)
{
	if (delay->kind == NIMBUS_BASIC) {
		basic(delay, ack);
		return;
	}
	delay->round_rtt_us = min(delay->round_rtt_us, ack->rtt_us);
	if (delay->kind == NIMBUS_COPA)
		copa(delay, ack);
	if (ack->now_us - delay->round_us >= ack->srtt_us)
		next_round(delay, ack);
}

void nimbus_delay_resume(struct nimbus_delay *delay, u32 rate, u64 window, u32 now_us)
{
	*delay = (struct nimbus_delay) {
		.kind = delay->kind,
		.rate = rate,
		.window = max(window, CUBIC_MIN_WINDOW),
		.round_us = now_us,
		.round_rtt_us = U32_MAX,
		.velocity = 1,
		.round_window = window,
	};
}

void nimbus_delay_timeout(struct nimbus_delay *delay)
{
	delay->window = max(delay->window / 2, CUBIC_MIN_WINDOW);
	delay->velocity = 1;
}
