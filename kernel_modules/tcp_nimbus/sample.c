// SPDX-License-Identifier: GPL-2.0
/*
 * Samples every 10 ms: the measured rates are added to the spectra, which determine mode, role
 * and pulses until the next sample.
 */
#include <net/tcp.h>

#include "nimbus.h"

#define WINDOW_NS	(5ULL * NSEC_PER_SEC)
/* Divisor of the mean RTT's filter: it lags by 1.3 s, which is several pulses. */
#define WINDOW_SHARE	128

/* Follows the mean RTT; the RTT itself changes with the pulses. */
static void set_window(struct nimbus *nimbus)
{
	s64 longer = (s64)nimbus->srtt_us - nimbus->window_us;

	nimbus->window_us = nimbus->settings.window_us ?:
			    nimbus->window_us + div_s64(longer, WINDOW_SHARE);
}

static void set_pulses(struct nimbus *nimbus, u64 now_ns)
{
	u32 bin = nimbus_bin(nimbus, nimbus->mode);
	u32 period_ns = div_u64(WINDOW_NS, bin);
	u64 height = 0;

	if (nimbus->role != NIMBUS_WATCHER) {
		height = div_u64((u64)nimbus->link * nimbus->settings.pulse_permille, 1000);
		height = min_t(u64, height, 3ULL * nimbus->base);
		if (nimbus_in_first_slow_start(nimbus) || nimbus->slow)
			height = 0;
		nimbus->role = height ? NIMBUS_PULSER : NIMBUS_SILENT;
	}
	if (period_ns != nimbus->period_ns || !height != !nimbus->height) {
		nimbus->steady_since = nimbus->samples;
		nimbus->pulse_epoch_ns = now_ns;
		nimbus->period_ns = period_ns;
	}
	nimbus->height = min_t(u64, height, U32_MAX);
}

static void sample(struct sock *sk, struct nimbus *nimbus)
{
	nimbus_dft_push(&nimbus->cross_dft, nimbus->cross >> NIMBUS_SAMPLE_SHIFT);
	nimbus_dft_push(&nimbus->receive_dft, nimbus->rates.receive >> NIMBUS_SAMPLE_SHIFT);
	nimbus->history[nimbus->samples % NIMBUS_SAMPLES] = nimbus->base;
	nimbus->samples++;
	nimbus_smooth(nimbus);
	set_window(nimbus);
	nimbus_set_mode(sk, nimbus);
	set_pulses(nimbus, tcp_sk(sk)->tcp_clock_cache);
}

/* Between two ACKs, the last rates are used. */
void nimbus_sample_due(struct sock *sk, struct nimbus *nimbus)
{
	u64 now_us = tcp_sk(sk)->tcp_mstamp;

	if (!nimbus->rates.valid || !nimbus->link) {
		nimbus->sample_us = now_us;
		return;
	}
	/* After a long pause, the last rate fills the whole window. */
	if (now_us > nimbus->sample_us + NIMBUS_SAMPLES * NIMBUS_SAMPLE_US)
		nimbus->sample_us = now_us - NIMBUS_SAMPLES * NIMBUS_SAMPLE_US;
	for (; nimbus->sample_us <= now_us; nimbus->sample_us += NIMBUS_SAMPLE_US)
		sample(sk, nimbus);
}
