/* SPDX-License-Identifier: GPL-2.0 */
/* Selected frequencies of the last 5 s of a rate. */
#ifndef _TCP_NIMBUS_DFT_H
#define _TCP_NIMBUS_DFT_H

#include <linux/types.h>

#include "wave.h"

/* The window is 5 s with a sample every 10 ms. Bin k has the frequency k / 5 s. */
#define NIMBUS_SAMPLES		NIMBUS_TURN
#define NIMBUS_SAMPLE_US	10000
#define NIMBUS_MOST_BINS	80
/* Maximum size of a sample without overflow. */
#define NIMBUS_SAMPLE_BITS	24
/* epsilon of (3), 0.5 Hz, is 2.5 bins, so comparisons start 3 bins away. */
#define NIMBUS_MARGIN_BINS	3
#define NIMBUS_MOST_ETA		65535	/* in hundredths */

struct nimbus_dft {
	u16	first_bin;
	u16	bins;
	u16	next;		/* index of the oldest sample */
	u16	filled;		/* number of samples, up to NIMBUS_SAMPLES */
	s64	sum;		/* of the samples */
	s64	real[NIMBUS_MOST_BINS];
	s64	imaginary[NIMBUS_MOST_BINS];
	s32	samples[NIMBUS_SAMPLES];
};

/* Initialises bins `first_bin` to `last_bin`, at most NIMBUS_MOST_BINS. */
void nimbus_dft_init(struct nimbus_dft *dft, u32 first_bin, u32 last_bin);
void nimbus_dft_push(struct nimbus_dft *dft, s32 sample);
/* Scaled magnitude of a bin: a sine of amplitude a has a * NIMBUS_SAMPLES / 8. */
u32 nimbus_dft_magnitude(const struct nimbus_dft *dft, u32 bin);
/* Highest magnitude of the bins; 0 if there are none. */
u32 nimbus_dft_highest(const struct nimbus_dft *dft, u32 first_bin, u32 last_bin);
s32 nimbus_dft_mean(const struct nimbus_dft *dft);
/* Elasticity (3) for pulses at a bin, in hundredths. */
u32 nimbus_dft_eta(const struct nimbus_dft *dft, u32 bin);

static inline bool nimbus_dft_full(const struct nimbus_dft *dft)
{
	return dft->filled == NIMBUS_SAMPLES;
}

#endif /* _TCP_NIMBUS_DFT_H */
