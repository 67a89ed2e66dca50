/* SPDX-License-Identifier: GPL-2.0 */
/* State of a flow, and the functions of each file. */
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

/* Unit of the rates in a DFT: 2^7 bytes per second, about 1 kbit/s. */
#define NIMBUS_SAMPLE_SHIFT	7
/* Packets per burst: as many as a delayed ACK releases in other senders. */
#define NIMBUS_BURST		2

enum nimbus_mode {
	NIMBUS_COMPETITIVE,
	NIMBUS_DELAY,
};

enum nimbus_role {
	NIMBUS_WATCHER,
	NIMBUS_PULSER,
	NIMBUS_SILENT,		/* a pulser that is not pulsing */
};

/* Rates are in bytes per second on the wire, windows in units of 2^-16 packets. */
struct nimbus {
	struct rcu_head rcu;	/* in the first page, as kfree_rcu requires */
	struct nimbus_settings settings;
	struct nimbus_rates rates;
	struct nimbus_competitive competitive;
	struct nimbus_delay delay;
	enum nimbus_mode mode;
	enum nimbus_role role;

	bool	slow;		/* too slow for pulses */
	u32	link;		/* mu */
	s64	cross;		/* z */
	u32	eta_percent;
	u32	base;		/* rate without pulses */
	u32	smooth;		/* rate of a watcher */
	u32	height;		/* of pulses; 0: none */
	u32	period_ns;	/* of pulses */
	u64	pulse_epoch_ns;	/* start of the first pulse */
	u32	packet_bytes;	/* on the wire */
	u32	rtt_us;		/* latest sample */
	u32	srtt_us;
	u32	window_us;	/* of S and R: mean RTT of about the last second */
	u32	min_rtt_us;	/* over the whole connection, unlike TCP's */
	u32	delivered;	/* packets at the last ACK */
	u32	in_flight;	/* packets at the last ACK */
	u16	gso_max_segs;	/* original value of the socket */

	u64	sample_us;	/* time of the next sample */
	u32	samples;	/* number of samples */
	u32	mode_since;	/* sample of the last change of mode */
	u32	steady_since;	/* sample of the last change of pulses */
	u32	history[NIMBUS_SAMPLES];	/* base of the last 5 s */
	u32	means[NIMBUS_SAMPLES];	/* of base over competitive pulses */
	struct nimbus_dft cross_dft;
	struct nimbus_dft receive_dft;
};

/* Bin of the pulses in a mode. */
static inline u32 nimbus_bin(const struct nimbus *nimbus, enum nimbus_mode mode)
{
	if (mode == NIMBUS_DELAY && nimbus->settings.elect)
		return nimbus->settings.delay_pulses;
	return nimbus->settings.pulses;
}

/* Lowest bin below a peak that the peak must exceed. */
static inline u32 nimbus_lowest_bin(u32 bin)
{
	return bin - bin / 3;
}

/* A third of the height of full pulses, below which a flow cannot send them. */
static inline u32 nimbus_least_rate(const struct nimbus *nimbus)
{
	return div_u64((u64)nimbus->link * nimbus->settings.pulse_permille, 3000);
}

/* ---- flow.c ---- */

/* Returns NULL if there is no memory. */
struct nimbus *nimbus_begin(struct sock *sk, enum nimbus_competitive_kind competitive,
			    enum nimbus_delay_kind delay);
/* Excludes an idle time from the growth of the window. */
void nimbus_after_pause(const struct sock *sk, struct nimbus *nimbus);
void nimbus_end(struct sock *sk, struct nimbus *nimbus);

/* ---- main.c ---- */

void nimbus_on_ack(struct sock *sk, struct nimbus *nimbus, const struct rate_sample *rs);

/* ---- base.c ---- */

/* Returns true if the mode controls a rate instead of a window. */
bool nimbus_has_rate(const struct nimbus *nimbus);
bool nimbus_in_slow_start(const struct nimbus *nimbus);
bool nimbus_in_first_slow_start(const struct nimbus *nimbus);
u64 nimbus_window(const struct nimbus *nimbus);
/* Window in flight at a rate and an RTT. */
u64 nimbus_window_in(const struct nimbus *nimbus, u32 rate, u32 rtt_us);
u64 nimbus_window_of(const struct nimbus *nimbus, u32 rate);
/* Window of the whole link at the target delay: the most that control of the delay needs. */
u64 nimbus_link_window(const struct nimbus *nimbus);
void nimbus_set_base(struct nimbus *nimbus);
/* Updates a watcher's rate, once per sample. */
void nimbus_smooth(struct nimbus *nimbus);

/* ---- sample.c ---- */

/* Takes all samples that are due. */
void nimbus_sample_due(struct sock *sk, struct nimbus *nimbus);

/* ---- mode.c ---- */

/* Switches the mode if required, once per sample. */
void nimbus_set_mode(struct sock *sk, struct nimbus *nimbus);

/* ---- role.c ---- */

/* Updates the role and returns the required mode, once per sample. */
enum nimbus_mode nimbus_choose(struct nimbus *nimbus);

/* ---- send.c ---- */

/* Sets the pacing rate to the base rate plus the pulse. */
void nimbus_pace(struct sock *sk, const struct nimbus *nimbus);
void nimbus_limit_burst(struct sock *sk);
void nimbus_set_cwnd(struct sock *sk, const struct nimbus *nimbus, const struct rate_sample *rs);

/* ---- loss.c ---- */

/* Reduces the window, once per window with lost or marked packets. */
void nimbus_on_reduction(struct nimbus *nimbus);
/* Retransmission timeout. */
void nimbus_on_timeout(struct nimbus *nimbus);
/* Reverts a spurious reduction. */
void nimbus_on_undo(struct nimbus *nimbus);

/* ---- info.c ---- */

/* Writes the state for inet_diag and returns its size. */
size_t nimbus_info(const struct nimbus *nimbus, u32 ext, int *attr, union tcp_cc_info *info);

#endif /* _TCP_NIMBUS_H */
