// SPDX-License-Identifier: GPL-2.0
/*
 * Sine and cosine at 500 points of a period, which are the samples of the FFT: sufficient for a
 * DFT of 500 samples, and for a pulse.
 */
#include "wave.h"

#define QUARTER		(NIMBUS_TURN / 4)
/* Sine and cosine of one step in units of 2^-30. */
#define STEP_BITS	30
#define STEP_SIN	13492683LL
#define STEP_COS	1073657043LL

static s32 quarter[QUARTER + 1];

void nimbus_wave_init(void)
{
	s64 sin = 0;
	s64 cos = 1LL << STEP_BITS;
	u32 step;

	for (step = 0; step <= QUARTER; step++) {
		s64 turned = sin * STEP_COS + cos * STEP_SIN;

		quarter[step] = (sin + (1 << (STEP_BITS - NIMBUS_WAVE_BITS - 1))) >>
				(STEP_BITS - NIMBUS_WAVE_BITS);
		cos = (cos * STEP_COS - sin * STEP_SIN) >> STEP_BITS;
		sin = turned >> STEP_BITS;
	}
}

s32 nimbus_sin(u32 step)
{
	step %= NIMBUS_TURN;
	if (step >= 2 * QUARTER)
		return -nimbus_sin(step - 2 * QUARTER);
	return quarter[step <= QUARTER ? step : 2 * QUARTER - step];
}

s32 nimbus_cos(u32 step)
{
	return nimbus_sin(step % NIMBUS_TURN + QUARTER);
}
