// SPDX-License-Identifier: GPL-2.0
/*
 * Role of a flow among several, and its mode (sections 4.1, 4.2).
 *
 * A lone flow is a pulser and evaluates the cross traffic by its own pulses. Where flows elect
 * a pulser, they start as watchers. A watcher detects the mode of the pulser in its own receive
 * rate, as a peak at f_pc or f_pd. Without a peak it becomes the pulser at random (5). A pulser
 * that sees more of either frequency in the cross traffic than in its own receive rate is not
 * the only one, and becomes a watcher at random.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/time64.h>

#include "nimbus.h"

/* Probability (5) with kappa = 1 for a flow that uses the whole link. */
#define MAX_PROBABILITY	(U32_MAX / NIMBUS_SAMPLES)

static bool steady(const struct nimbus *nimbus)
{
	return nimbus->height && nimbus->samples - nimbus->steady_since >= NIMBUS_SAMPLES;
}

/* Over the length of the FFT. */
static bool too_slow(const struct nimbus *nimbus)
{
	u64 mean = (u64)max(nimbus_dft_mean(&nimbus->receive_dft), 0) << NIMBUS_SAMPLE_SHIFT;

	return nimbus_dft_full(&nimbus->receive_dft) && mean < nimbus_least_rate(nimbus);
}

static bool occurs(u32 probability)
{
	return get_random_u32() < probability;
}

/*
 * Returns true if a peak exceeds a packet in the window of the rates. Rates are counted in
 * whole packets, which follow the pulses if nothing else adds noise.
 */
static bool is_peak(const struct nimbus *nimbus, u32 magnitude)
{
	u32 window_us = max(nimbus->rates.span.sent_us, 1U);
	u64 packet = div_u64((u64)nimbus->packet_bytes * USEC_PER_SEC, window_us);

	return 8ULL * magnitude >= (packet >> NIMBUS_SAMPLE_SHIFT) * NIMBUS_SAMPLES;
}

/*
 * Returns true if the cross traffic has a peak at a frequency of pulses that is higher than in
 * the flow's own receive rate. The flow's own changes within the window are in both.
 */
static bool other_pulsers(const struct nimbus *nimbus)
{
	const struct nimbus_dft *cross = &nimbus->cross_dft;
	const struct nimbus_settings *settings = &nimbus->settings;
	const u32 bins[] = { settings->pulses, settings->delay_pulses };
	u32 low = min(bins[0], bins[1]);
	u32 high = max(bins[0], bins[1]);
	u64 others = nimbus_dft_highest(cross, high + NIMBUS_MARGIN_BINS,
					2 * low - NIMBUS_MARGIN_BINS);
	u32 i;

	others = max(others * settings->threshold_percent / 100, 1ULL);
	for (i = 0; i < ARRAY_SIZE(bins); i++) {
		u32 peak = nimbus_dft_magnitude(cross, bins[i]);

		if (peak >= others && is_peak(nimbus, peak) &&
		    peak > nimbus_dft_magnitude(&nimbus->receive_dft, bins[i]))
			return true;
	}
	return false;
}

static enum nimbus_mode pulser(struct nimbus *nimbus)
{
	u32 bin = nimbus_bin(nimbus, nimbus->mode);

	if (nimbus->settings.elect && nimbus_dft_full(&nimbus->cross_dft) &&
	    other_pulsers(nimbus) && occurs(MAX_PROBABILITY)) {
		nimbus->role = NIMBUS_WATCHER;
		return nimbus->mode;
	}
	nimbus->slow = too_slow(nimbus);
	if (nimbus->slow) {
		nimbus->eta_percent = 0;
		return NIMBUS_COMPETITIVE;
	}
	if (!steady(nimbus))
		return nimbus->mode;
	nimbus->eta_percent = nimbus_dft_eta(&nimbus->cross_dft, bin);
	if (nimbus->eta_percent >= nimbus->settings.threshold_percent &&
	    is_peak(nimbus, nimbus_dft_magnitude(&nimbus->cross_dft, bin)))
		return NIMBUS_COMPETITIVE;
	/* Samples from before the change of mode are no evidence for the delay mode. */
	return nimbus->samples - nimbus->mode_since >=
	       nimbus->settings.hold_ms * USEC_PER_MSEC / NIMBUS_SAMPLE_US ?
	       NIMBUS_DELAY : nimbus->mode;
}

/* (5) */
static u32 pulser_probability(const struct nimbus *nimbus)
{
	u32 receive = min(nimbus->rates.receive, nimbus->link);
	u64 most = div_u64((u64)MAX_PROBABILITY * nimbus->settings.kappa_percent, 100);

	return mul_u64_u32_div(most, receive, nimbus->link);
}

static enum nimbus_mode watcher(struct nimbus *nimbus)
{
	const struct nimbus_settings *settings = &nimbus->settings;
	const struct nimbus_dft *dft = &nimbus->receive_dft;
	u32 low = min(settings->pulses, settings->delay_pulses);
	u32 high = max(settings->pulses, settings->delay_pulses);
	u32 competitive, delay, peak, others, below;

	if (!nimbus_dft_full(dft))
		return nimbus->mode;
	competitive = nimbus_dft_magnitude(dft, settings->pulses);
	delay = nimbus_dft_magnitude(dft, settings->delay_pulses);
	others = nimbus_dft_highest(dft, high + NIMBUS_MARGIN_BINS, 2 * low - NIMBUS_MARGIN_BINS);
	/* Without pulses the spectrum rises towards low frequencies, which is no peak. */
	below = nimbus_dft_highest(dft, nimbus_lowest_bin(low), low - NIMBUS_MARGIN_BINS);
	others = max3(others, below, 1U);
	peak = max(competitive, delay);
	nimbus->eta_percent = min_t(u64, div_u64(100ULL * peak, others), NIMBUS_MOST_ETA);
	if (nimbus->eta_percent >= settings->threshold_percent && is_peak(nimbus, peak))
		return competitive >= delay ? NIMBUS_COMPETITIVE : NIMBUS_DELAY;

	/* A pulser that has just changed its mode causes two peaks of half the height. */
	if (nimbus->eta_percent >= (100 + settings->threshold_percent) / 2 &&
	    is_peak(nimbus, 2 * peak))
		return nimbus->mode;
	if (nimbus->link && !too_slow(nimbus) && occurs(pulser_probability(nimbus))) {
		nimbus->role = NIMBUS_PULSER;
		nimbus->steady_since = nimbus->samples;
	}
	return nimbus->mode;
}

enum nimbus_mode nimbus_choose(struct nimbus *nimbus)
{
	return nimbus->role == NIMBUS_WATCHER ? watcher(nimbus) : pulser(nimbus);
}
