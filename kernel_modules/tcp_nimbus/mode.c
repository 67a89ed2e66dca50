// SPDX-License-Identifier: GPL-2.0
/* Changes of mode; the new mode continues at the rate of the old one. */
#include <net/tcp.h>

#include "nimbus.h"

/*
 * Where flows elect a pulser, the others probably control delay, too. A flow then starts in
 * the delay mode, and slow start ends when the queue reaches the target of that mode.
 */
static bool starts_with_delay(const struct nimbus *nimbus)
{
	return nimbus->settings.elect && nimbus_in_first_slow_start(nimbus) &&
	       nimbus->srtt_us > nimbus->min_rtt_us + nimbus->settings.target_us;
}

static void compete(struct nimbus *nimbus)
{
	u32 oldest = nimbus->means[nimbus->samples % NIMBUS_SAMPLES];
	u32 latest = nimbus->means[(nimbus->samples - 1) % NIMBUS_SAMPLES];

	nimbus_competitive_resume(&nimbus->competitive,
				  min(nimbus_window_of(nimbus, max(oldest, latest)),
				      nimbus_link_window(nimbus) * 3 / 2));
}

static void control_delay(const struct sock *sk, struct nimbus *nimbus)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = nimbus->min_rtt_us + nimbus->settings.target_us;
	u32 rate = nimbus->base;

	/* Slow start exceeds the rate of the link. */
	if (nimbus_in_first_slow_start(nimbus) && nimbus->rates.valid)
		rate = min(rate, nimbus->rates.receive);
	nimbus_delay_resume(&nimbus->delay, rate, nimbus_window_in(nimbus, rate, rtt_us),
			    tp->tcp_mstamp);
}

void nimbus_set_mode(struct sock *sk, struct nimbus *nimbus)
{
	enum nimbus_mode mode = starts_with_delay(nimbus) ? NIMBUS_DELAY : nimbus_choose(nimbus);

	if (mode == nimbus->mode)
		return;
	if (mode == NIMBUS_COMPETITIVE)
		compete(nimbus);
	else
		control_delay(sk, nimbus);
	nimbus->mode = mode;
	nimbus->mode_since = nimbus->samples;
}
