// SPDX-License-Identifier: GPL-2.0
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "stream.h"

#define ONE_BITS	32

/*
 * The gaps 1 to N - 1 of N packets have the ratio 1 / r_i = 1 / (m^(i-1) r_1) and the
 * mean 1 / r_avg. The gap after the last packet is also 1 / r_avg.
 */
void rapid_shape_init(struct rapid_shape *shape, u32 packets, u32 factor_permille)
{
	u64 inverse = 1ULL << ONE_BITS;	/* m^-(i-1) in units of 2^-32 */
	u64 sum = 0;
	u64 scale;
	u32 i;

	for (i = 1; i < packets; i++) {
		sum += inverse;
		inverse = div_u64(inverse * 1000, factor_permille);
	}
	/* (N - 1) / sum in units of 2^-16; the sum is in units of 2^-16, too. */
	scale = div64_u64((u64)(packets - 1) << (ONE_BITS + RAPID_WEIGHT_BITS - 16), sum >> 16);

	memset(shape, 0, sizeof(*shape));
	shape->packets = packets;
	inverse = 1ULL << ONE_BITS;
	for (i = 0; i < packets - 1; i++) {
		shape->weights[i] = max_t(u64, (inverse * scale) >> ONE_BITS, 1);
		inverse = div_u64(inverse * 1000, factor_permille);
	}
	shape->weights[packets - 1] = 1U << RAPID_WEIGHT_BITS;
}
