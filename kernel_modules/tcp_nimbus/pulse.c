// SPDX-License-Identifier: GPL-2.0
/*
 * The asymmetric pulse: a positive half-sine for a quarter of the period, and a negative one of
 * a third of the height for the rest, so that the mean is 0 (section 3.4, figure 6).
 */
#include <linux/math64.h>
#include <linux/time64.h>

#include "pulse.h"
#include "wave.h"

/* A half-sine is half a period. */
#define HALF_TURN	(NIMBUS_TURN / 2)

/* Value of a half-sine after a part of its length. */
static s64 half_sine(u32 part_ns, u32 whole_ns)
{
	return nimbus_sin(div_u64((u64)part_ns * HALF_TURN + whole_ns / 2, whole_ns));
}

s64 nimbus_pulse(u32 phase_ns, u32 period_ns, u32 height)
{
	u32 up_ns = period_ns / 4;
	u32 down_ns = period_ns - up_ns;

	if (phase_ns < up_ns)
		return height * half_sine(phase_ns, up_ns) >> NIMBUS_WAVE_BITS;
	phase_ns -= up_ns;
	if (phase_ns >= down_ns)
		return 0;
	return -(height / NIMBUS_PULSE_DOWN * half_sine(phase_ns, down_ns) >> NIMBUS_WAVE_BITS);
}

/* 2/pi of the height for a quarter of the period. */
u32 nimbus_pulse_burst(u32 period_ns, u32 height_bytes_per_s)
{
	return div_u64((u64)height_bytes_per_s * (period_ns / 1000) / 4 * 7 / 11,
		       (u32)USEC_PER_SEC);
}
