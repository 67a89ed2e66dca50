/* SPDX-License-Identifier: GPL-2.0 */
/* Rate or window of the delay-control mode. */
#ifndef _TCP_NIMBUS_DELAY_H
#define _TCP_NIMBUS_DELAY_H

#include <linux/types.h>

enum nimbus_delay_kind {
	NIMBUS_BASIC,		/* controls a rate */
	NIMBUS_VEGAS,		/* these control a window */
	NIMBUS_COPA,
};

struct nimbus_delay {
	enum nimbus_delay_kind kind;
	u32	rate;		/* bytes per second on the wire */
	u64	window;		/* in units of 2^-16 packets */
	u32	round_us;	/* start of the round trip */
	u32	round_rtt_us;	/* minimum in the round trip */
	u64	round_window;	/* Copa: at its start */
	u32	velocity;
	u32	same_rounds;	/* with this direction */
	bool	up;		/* the direction */
};

/* Input of an ACK. */
struct nimbus_ack {
	u64	delivered;	/* in units of 2^-16 packets */
	u64	trough;		/* removed from the queue by pulses, in the same unit */
	u32	now_us;
	u32	rtt_us;
	u32	srtt_us;
	u32	min_rtt_us;
	u32	send;		/* S; rates are in bytes per second */
	u32	link;
	u32	least;
	s64	cross;
	u32	target_us;
	u32	alpha_permille;
	u32	beta_permille;
};

/* Starts at the rate and window of the previous mode. */
void nimbus_delay_resume(struct nimbus_delay *delay, u32 rate, u64 window, u32 now_us);
void nimbus_delay_ack(struct nimbus_delay *delay, const struct nimbus_ack *ack);
void nimbus_delay_timeout(struct nimbus_delay *delay);

#endif /* _TCP_NIMBUS_DELAY_H */
