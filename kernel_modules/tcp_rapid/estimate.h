/* SPDX-License-Identifier: GPL-2.0 */
/* Available bandwidth from the delays of a p-stream. */
#ifndef _TCP_RAPID_ESTIMATE_H
#define _TCP_RAPID_ESTIMATE_H

#include <linux/types.h>

#include "stream.h"

enum rapid_verdict {
	RAPID_UNKNOWN,	/* too few samples */
	RAPID_BELOW,	/* the delay grew from the first packet */
	RAPID_WITHIN,	/* the delay grew from a later packet */
	RAPID_ABOVE,	/* the delay did not grow */
};

/* Samples of the packets of a stream, in order of sending. */
struct rapid_points {
	u32	count;
	u32	sent_ns[RAPID_MOST_PACKETS];	/* modulo 2^32 */
	u32	delay_ns[RAPID_MOST_PACKETS];	/* until the ACK, modulo 2^32 */
	u8	position[RAPID_MOST_PACKETS];
};

struct rapid_rule {
	u32	min_length;	/* of growth, in packets */
	u32	decrease;	/* growth ends when 1/decrease of it remains */
	/* Noise is 1/tolerance of growth, and growth of 1/tolerance of the time; 0: no noise. */
	u32	tolerance;
	/* Excursions and estimate as in PathChirp, without decrease and tolerance. */
	bool	pathchirp;
};

struct rapid_estimate {
	enum rapid_verdict verdict;
	u64	gap;		/* of a packet at the available bandwidth, in units of 2^-8 ns */
	u32	least_delay_ns;	/* of the stream's packets, modulo 2^32 */
};

/* Gap before the last point; requires two points. */
u64 rapid_last_gap(const struct rapid_points *points);
struct rapid_estimate rapid_estimate(const struct rapid_points *points, struct rapid_rule rule);

#endif /* _TCP_RAPID_ESTIMATE_H */
