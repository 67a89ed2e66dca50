/* SPDX-License-Identifier: GPL-2.0 */
/* The available bandwidth from the delays of one p-stream. */
#ifndef _TCP_RAPID_ESTIMATE_H
#define _TCP_RAPID_ESTIMATE_H

#include <linux/types.h>

#include "stream.h"

enum rapid_verdict {
	RAPID_UNKNOWN,	/* too few packets tell */
	RAPID_BELOW,	/* the delay grew from the first packet on */
	RAPID_WITHIN,	/* it grew from somewhere within the stream on */
	RAPID_ABOVE,	/* it did not grow */
};

/* What is known of the packets of a stream whose ACKs tell, in order of sending. */
struct rapid_points {
	u32	count;
	u32	sent_ns[RAPID_MOST_PACKETS];	/* modulo 2^32 */
	u32	delay_ns[RAPID_MOST_PACKETS];	/* until the ACK came, modulo 2^32 */
	u8	position[RAPID_MOST_PACKETS];
};

struct rapid_rule {
	u32	min_length;	/* of the growth, in packets */
	u32	decrease;	/* growth is over when 1/decrease of it is left */
	/* Noise: 1/tolerance of growth, and growth in tolerance times the time; 0: there is none. */
	u32	tolerance;
	/* Excursions and estimate as in PathChirp; decrease and tolerance do not count. */
	bool	pathchirp;
};

struct rapid_estimate {
	enum rapid_verdict verdict;
	u64	gap;		/* of a packet at the available bandwidth, in units of 2^-8 ns */
	u32	least_delay_ns;	/* of the stream's packets, modulo 2^32 */
};

/* Of two points or more: the gap before the last of them. */
u64 rapid_last_gap(const struct rapid_points *points);
struct rapid_estimate rapid_estimate(const struct rapid_points *points, struct rapid_rule rule);

#endif /* _TCP_RAPID_ESTIMATE_H */
