// SPDX-License-Identifier: GPL-2.0
/*
 * A sliding DFT: each sample adds its contribution to each bin and removes that of the sample
 * it replaces. The window holds whole periods of every bin, so both have the same sine and
 * cosine, and the sums are exact without drift. The bins rotate over time, their magnitudes
 * do not.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>

#include "dft.h"

/*
 * The sums have 24 bits of a sample, 15 of a sine and 9 of 500 samples. With 17 bits less, the
 * sum of two squares fits into 64 bits. With the factor 1/2 of a sine's mean square, 500/8 of
 * its amplitude remains.
 */
#define SCALE_BITS	17

void nimbus_dft_init(struct nimbus_dft *dft, u32 first_bin, u32 last_bin)
{
	memset(dft, 0, sizeof(*dft));
	dft->first_bin = first_bin;
	dft->bins = min_t(u32, last_bin - first_bin + 1, NIMBUS_MOST_BINS);
}

void nimbus_dft_push(struct nimbus_dft *dft, s32 sample)
{
	s32 change;
	u32 i;

	sample = clamp(sample, -(1 << NIMBUS_SAMPLE_BITS), 1 << NIMBUS_SAMPLE_BITS);
	change = sample - dft->samples[dft->next];
	for (i = 0; i < dft->bins; i++) {
		u32 step = (dft->first_bin + i) * dft->next;

		dft->real[i] += (s64)change * nimbus_cos(step);
		dft->imaginary[i] += (s64)change * nimbus_sin(step);
	}
	dft->sum += change;
	dft->samples[dft->next] = sample;
	dft->next = (dft->next + 1) % NIMBUS_SAMPLES;
	if (dft->filled < NIMBUS_SAMPLES)
		dft->filled++;
}

static u64 power(const struct nimbus_dft *dft, u32 bin)
{
	u32 i = bin - dft->first_bin;
	s64 real, imaginary;

	if (i >= dft->bins)
		return 0;
	real = dft->real[i] >> SCALE_BITS;
	imaginary = dft->imaginary[i] >> SCALE_BITS;
	return real * real + imaginary * imaginary;
}

u32 nimbus_dft_magnitude(const struct nimbus_dft *dft, u32 bin)
{
	return int_sqrt64(power(dft, bin));
}

u32 nimbus_dft_highest(const struct nimbus_dft *dft, u32 first_bin, u32 last_bin)
{
	u64 highest = 0;
	u32 bin;

	for (bin = first_bin; bin <= last_bin; bin++)
		highest = max(highest, power(dft, bin));
	return int_sqrt64(highest);
}

s32 nimbus_dft_mean(const struct nimbus_dft *dft)
{
	return div_s64(dft->sum, NIMBUS_SAMPLES);
}

u32 nimbus_dft_eta(const struct nimbus_dft *dft, u32 bin)
{
	u32 peak = nimbus_dft_magnitude(dft, bin);
	u32 others = nimbus_dft_highest(dft, bin + NIMBUS_MARGIN_BINS,
					2 * bin - NIMBUS_MARGIN_BINS);

	if (!peak)
		return 0;
	return min_t(u64, div_u64(100ULL * peak, max(others, 1U)), NIMBUS_MOST_ETA);
}
