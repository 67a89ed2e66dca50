// SPDX-License-Identifier: GPL-2.0
/*
 * Sending rate without pulses: the rate of the delay mode, or a window per RTT; and the mean of
 * it at which a watcher sends.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "nimbus.h"

/* Rate at which a watcher fills its window. Its means lag by 0.18 s, so it swings from 10 on. */
#define FILLS_PER_S	8

bool nimbus_has_rate(const struct nimbus *nimbus)
{
	return nimbus->mode == NIMBUS_DELAY && nimbus->delay.kind == NIMBUS_BASIC;
}

bool nimbus_in_slow_start(const struct nimbus *nimbus)
{
	return nimbus->mode == NIMBUS_COMPETITIVE &&
	       nimbus_competitive_in_slow_start(&nimbus->competitive);
}

bool nimbus_in_first_slow_start(const struct nimbus *nimbus)
{
	return nimbus_in_slow_start(nimbus) && nimbus->competitive.w.ssthresh == CUBIC_LARGEST;
}

u64 nimbus_window(const struct nimbus *nimbus)
{
	return nimbus->mode == NIMBUS_DELAY ? nimbus->delay.window : nimbus->competitive.w.window;
}

u64 nimbus_window_in(const struct nimbus *nimbus, u32 rate, u32 rtt_us)
{
	u64 bytes = div_u64((u64)rate * rtt_us, (u32)USEC_PER_SEC);

	return div_u64(bytes << CUBIC_SHIFT, nimbus->packet_bytes);
}

u64 nimbus_window_of(const struct nimbus *nimbus, u32 rate)
{
	return nimbus_window_in(nimbus, rate, nimbus->srtt_us);
}

u64 nimbus_link_window(const struct nimbus *nimbus)
{
	return nimbus_window_in(nimbus, nimbus->link,
				nimbus->min_rtt_us + nimbus->settings.target_us);
}

static u32 rate_of(const struct nimbus *nimbus, u64 window)
{
	u64 bytes = mul_u64_u32_shr(window, nimbus->packet_bytes, CUBIC_SHIFT);

	return min_t(u64, div_u64(bytes * USEC_PER_SEC, nimbus->srtt_us), U32_MAX);
}

/*
 * A watcher sends at a mean over pulses, which lags. Window / RTT would add the delay of a
 * packet that has returned, and all flows together would swing between an empty and a full
 * queue. The receive rate plus the room in the window gives the same value earlier.
 */
static u32 watcher_rate(const struct nimbus *nimbus, u32 usual)
{
	s64 room = (s64)nimbus_window(nimbus) - (s64)nimbus->in_flight * (s64)CUBIC_PACKET;
	s64 more = room * nimbus->packet_bytes * FILLS_PER_S >> CUBIC_SHIFT;
	u32 most = min_t(u64, 2ULL * usual, U32_MAX);

	return clamp_t(s64, nimbus->rates.receive + more, usual / 2, most);
}

void nimbus_set_base(struct nimbus *nimbus)
{
	if (nimbus_has_rate(nimbus)) {
		nimbus->base = nimbus->delay.rate;
		return;
	}
	nimbus->base = rate_of(nimbus, nimbus_window(nimbus));
	if (nimbus->role == NIMBUS_WATCHER && nimbus->rates.valid && !nimbus_in_slow_start(nimbus))
		nimbus->base = watcher_rate(nimbus, nimbus->base);
}

/* Mean over a whole pulse, which includes a part of the oldest sample. */
static u32 mean_over_pulse(const struct nimbus *nimbus, const u32 *values, u32 pulses)
{
	u32 whole = NIMBUS_SAMPLES / pulses;
	u64 sum = 0;
	u32 i;

	for (i = 1; i <= whole; i++)
		sum += values[(nimbus->samples - i) % NIMBUS_SAMPLES];
	sum *= pulses;
	sum += (u64)values[(nimbus->samples - i) % NIMBUS_SAMPLES] * (NIMBUS_SAMPLES % pulses);
	return div_u64(sum, NIMBUS_SAMPLES);
}

/* Mean over pulses of one mode of means over pulses of the other, which cancels both. */
void nimbus_smooth(struct nimbus *nimbus)
{
	const struct nimbus_settings *settings = &nimbus->settings;
	u32 latest = (nimbus->samples - 1) % NIMBUS_SAMPLES;
	u32 *means = nimbus->means;

	means[latest] = nimbus->base;
	nimbus->smooth = nimbus->base;
	if (nimbus->samples > NIMBUS_SAMPLES / settings->pulses)
		means[latest] = mean_over_pulse(nimbus, nimbus->history, settings->pulses);
	if (nimbus->samples > NIMBUS_SAMPLES / settings->delay_pulses)
		nimbus->smooth = mean_over_pulse(nimbus, means, settings->delay_pulses);
}
