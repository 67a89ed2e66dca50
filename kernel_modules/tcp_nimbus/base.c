// SPDX-License-Identifier: GPL-2.0
/*
 * What a flow sends at without pulses: the delay mode's rate, or the rate at which a window
 * goes by in an RTT.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "nimbus.h"

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

static u32 rate_of(const struct nimbus *nimbus, u64 window)
{
	u64 bytes = mul_u64_u32_shr(window, nimbus->packet_bytes, CUBIC_SHIFT);

	return min_t(u64, div_u64(bytes * USEC_PER_SEC, nimbus->srtt_us), U32_MAX);
}

void nimbus_set_base(struct nimbus *nimbus)
{
	nimbus->base = nimbus_has_rate(nimbus) ? nimbus->delay.rate :
		       rate_of(nimbus, nimbus_window(nimbus));
}
