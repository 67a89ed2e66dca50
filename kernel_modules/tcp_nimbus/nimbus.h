/* SPDX-License-Identifier: GPL-2.0 */
/* The state of one flow. */
#ifndef _TCP_NIMBUS_H
#define _TCP_NIMBUS_H

#include <linux/types.h>

#include "competitive.h"
#include "delay.h"
#include "dft.h"
#include "rates.h"
#include "settings.h"

/* Of rates in bytes per second that go into a DFT: about a kbit/s. */
#define NIMBUS_SAMPLE_SHIFT	7

enum nimbus_mode {
	NIMBUS_COMPETITIVE,
	NIMBUS_DELAY,
};

enum nimbus_role {
	NIMBUS_WATCHER,
	NIMBUS_PULSER,
	NIMBUS_SILENT,		/* a pulser that does not pulse now */
};

/* Rates are in bytes per second on the wire, windows in units of 2^-16 packets. */
struct nimbus {
	struct nimbus_settings settings;
	struct nimbus_rates rates;
	struct nimbus_competitive competitive;
	struct nimbus_delay delay;
	enum nimbus_mode mode;
	enum nimbus_role role;

	bool	slow;		/* below what pulses need */
	u32	link;		/* mu */
	s64	cross;		/* z */
	u32	eta_percent;
	u32	base;		/* the rate without pulses */
	u32	smooth;		/* a watcher's */
	u32	height;		/* of the pulses, 0: none */
	u32	period_ns;	/* of the pulses */
	u64	pulse_epoch_ns;	/* when the first of them began */
	u32	packet_bytes;	/* on the wire */
	u32	rtt_us;		/* the latest */
	u32	srtt_us;
	u32	window_us;	/* of S and R: the mean RTT of the last second or so */
	u32	delivered;	/* packets, at the last ACK */
	u16	gso_max_segs;	/* the socket's, before it was ours */

	u64	sample_us;	/* when the next sample is due */
	u32	samples;	/* since the flow began */
	u32	mode_since;	/* the sample from which on the mode has been what it is */
	u32	steady_since;	/* the sample from which on pulses have been as they are */
	u32	history[NIMBUS_SAMPLES];	/* base, the latest 5 s */
	struct nimbus_dft cross_dft;
	struct nimbus_dft receive_dft;
};

/* The bin of the pulses in this mode. */
static inline u32 nimbus_bin(const struct nimbus *nimbus, enum nimbus_mode mode)
{
	if (mode == NIMBUS_DELAY && nimbus->settings.elect)
		return nimbus->settings.delay_pulses;
	return nimbus->settings.pulses;
}

/* A third of the height of full pulses: a slower flow cannot send them. */
static inline u32 nimbus_least_rate(const struct nimbus *nimbus)
{
	return div_u64((u64)nimbus->link * nimbus->settings.pulse_permille, 3000);
}

/* ---- role.c ---- */

/* Once for each sample: which role the flow has, and which mode it ought to be in. */
enum nimbus_mode nimbus_choose(struct nimbus *nimbus);
/* Once for each sample: what a watcher sends at. */
u32 nimbus_smoothed(const struct nimbus *nimbus, u32 rate);

#endif /* _TCP_NIMBUS_H */
