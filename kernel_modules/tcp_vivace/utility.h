/* SPDX-License-Identifier: GPL-2.0 */
/* The utility of a monitor interval, in fixed point. */
#ifndef _VIVACE_UTILITY_H
#define _VIVACE_UTILITY_H

#include <linux/types.h>

/* Utilities, shares and gradients have this many fractional bits. */
#define VIVACE_BITS	16
#define VIVACE_ONE	(1LL << VIVACE_BITS)

/* RTTs over the times at which their packets were sent, for a line of least squares. */
struct vivace_line {
	u64	sum_t;		/* us since the first sample */
	u64	sum_tt;
	s64	sum_rtt;	/* us more than that of the first sample */
	s64	sum_t_rtt;
	u32	first_t;	/* us */
	u32	first_rtt;	/* us */
	u32	samples;
};

void vivace_add(struct vivace_line *line, u32 t_us, u32 rtt_us);

/* Slope of the line, d(RTT)/dT. */
s64 vivace_slope(const struct vivace_line *line);

/*
 * x^0.9 - latency * x * max(d(RTT)/dT, 0) - loss * x * L, where x is in Mbit/s, L the share of lost
 * packets, and `latency` and `loss` are factors, in thousandths.
 */
s64 vivace_utility(u32 kbps, s64 slope, s64 lost_share, u32 latency, u32 loss);

#endif /* _VIVACE_UTILITY_H */
