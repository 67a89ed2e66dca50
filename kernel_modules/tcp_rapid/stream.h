/* SPDX-License-Identifier: GPL-2.0 */
/* Gaps between the packets of a p-stream. */
#ifndef _TCP_RAPID_STREAM_H
#define _TCP_RAPID_STREAM_H

#include <linux/types.h>

#define RAPID_MOST_PACKETS	64

/* Gaps are in units of 2^-8 ns. */
#define RAPID_GAP_BITS		8
/* A gap is the mean gap times a weight in units of 2^-16. */
#define RAPID_WEIGHT_BITS	16

struct rapid_shape {
	u32	packets;			/* N */
	u32	weights[RAPID_MOST_PACKETS];	/* of the gaps after packets 0 to N - 1 */
};

void rapid_shape_init(struct rapid_shape *shape, u32 packets, u32 factor_permille);

static inline u64 rapid_gap_after(const struct rapid_shape *shape, u32 position, u64 mean_gap)
{
	return mean_gap * shape->weights[position] >> RAPID_WEIGHT_BITS;
}

#endif /* _TCP_RAPID_STREAM_H */
