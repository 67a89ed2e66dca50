/* SPDX-License-Identifier: GPL-2.0 */
/* The state of one flow, and what each file does with it. */
#ifndef _TCP_NIMBUS_H
#define _TCP_NIMBUS_H

#include <linux/math64.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

#include "competitive.h"
#include "delay.h"
#include "dft.h"
#include "rates.h"
#include "settings.h"

struct rate_sample;
struct sock;
union tcp_cc_info;

/* Of rates in bytes per second that go into a DFT: about a kbit/s. */
#define NIMBUS_SAMPLE_SHIFT	7
/* Packets that leave at once: as many as a delayed ACK makes others send. */
#define NIMBUS_BURST		2

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
	struct rcu_head rcu;	/* within the first page, as kfree_rcu wants it */
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
	u32	min_rtt_us;	/* the least ever: TCP's own forgets */
	u32	delivered;	/* packets, at the last ACK */
	u32	in_flight;	/* packets, at the last ACK */
	u16	gso_max_segs;	/* the socket's, before it was ours */

	u64	sample_us;	/* when the next sample is due */
	u32	samples;	/* since the flow began */
	u32	mode_since;	/* the sample from which on the mode has been what it is */
	u32	steady_since;	/* the sample from which on pulses have been as they are */
	u32	history[NIMBUS_SAMPLES];	/* base, the latest 5 s */
	u32	means[NIMBUS_SAMPLES];	/* of base over competitive pulses, likewise */
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

/* From here on a peak at a bin has to be higher than what is below it. */
static inline u32 nimbus_lowest_bin(u32 bin)
{
	return bin - bin / 3;
}

/* A third of the height of full pulses: a slower flow cannot send them. */
static inline u32 nimbus_least_rate(const struct nimbus *nimbus)
{
	return div_u64((u64)nimbus->link * nimbus->settings.pulse_permille, 3000);
}

/* ---- flow.c ---- */

/* NULL if there is no memory for a flow. */
struct nimbus *nimbus_begin(struct sock *sk, enum nimbus_competitive_kind competitive,
			    enum nimbus_delay_kind delay);
/* What the flow has been silent for is no time to grow in. */
void nimbus_after_pause(const struct sock *sk, struct nimbus *nimbus);
void nimbus_end(struct sock *sk, struct nimbus *nimbus);

/* ---- main.c ---- */

void nimbus_on_ack(struct sock *sk, struct nimbus *nimbus, const struct rate_sample *rs);

/* ---- base.c ---- */

/* The mode has a rate, not a window. */
bool nimbus_has_rate(const struct nimbus *nimbus);
bool nimbus_in_slow_start(const struct nimbus *nimbus);
bool nimbus_in_first_slow_start(const struct nimbus *nimbus);
u64 nimbus_window(const struct nimbus *nimbus);
/* The window that has this rate in flight if the RTT is so long. */
u64 nimbus_window_in(const struct nimbus *nimbus, u32 rate, u32 rtt_us);
u64 nimbus_window_of(const struct nimbus *nimbus, u32 rate);
void nimbus_set_base(struct nimbus *nimbus);
/* Once for each sample: what a watcher sends at. */
void nimbus_smooth(struct nimbus *nimbus);

/* ---- sample.c ---- */

/* Takes the samples that are due. */
void nimbus_sample_due(struct sock *sk, struct nimbus *nimbus);

/* ---- mode.c ---- */

/* Once for each sample: switches modes where the other one ought to be. */
void nimbus_set_mode(struct sock *sk, struct nimbus *nimbus);

/* ---- role.c ---- */

/* Once for each sample: which role the flow has, and which mode it ought to be in. */
enum nimbus_mode nimbus_choose(struct nimbus *nimbus);

/* ---- send.c ---- */

/* Packets leave at the base rate and the pulse on top of it. */
void nimbus_pace(struct sock *sk, const struct nimbus *nimbus);
void nimbus_limit_burst(struct sock *sk);
void nimbus_set_cwnd(struct sock *sk, const struct nimbus *nimbus);

/* ---- loss.c ---- */

/* TCP wants a smaller window: once for each window in which packets were lost or marked. */
void nimbus_on_reduction(struct nimbus *nimbus);
/* Nothing has come back for long. */
void nimbus_on_timeout(struct nimbus *nimbus);
/* What was taken for a loss was none. */
void nimbus_on_undo(struct nimbus *nimbus);

/* ---- info.c ---- */

/* What inet_diag tells of a flow: writes it, and returns its size. */
size_t nimbus_info(const struct nimbus *nimbus, u32 ext, int *attr, union tcp_cc_info *info);

#endif /* _TCP_NIMBUS_H */
