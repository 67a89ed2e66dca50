// SPDX-License-Identifier: GPL-2.0
/* The utility of a monitor interval, in fixed point. */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/math64.h>

#include "utility.h"

/* log2(1000), for rates in Mbit/s from rates in kbit/s. */
#define LOG2_1000	653127
#define EXPONENT_TENTHS	9
#define THOUSAND	1000

/* 2^(2^-1), 2^(2^-2), ...: the factors of a fraction's bits. */
static const u32 roots_of_2[VIVACE_BITS] = {
	92682, 77936, 71468, 68438, 66971, 66250, 65892, 65714,
	65625, 65580, 65558, 65547, 65542, 65539, 65537, 65537,
};

/* Each squaring of a number in [1, 2) yields one bit of its logarithm. */
static s64 log2_of(u32 value)
{
	u32 whole = ilog2(value);
	u64 rest = ((u64)value << 31) >> whole;	/* in [1, 2) with 31 bits */
	s64 result = (s64)whole << VIVACE_BITS;
	int bit;

	for (bit = VIVACE_BITS - 1; bit >= 0; bit--) {
		rest = rest * rest >> 31;
		if (rest >> 32) {
			rest >>= 1;
			result |= 1LL << bit;
		}
	}
	return result;
}

static s64 exp2_of(s64 value)
{
	s64 whole = value >> VIVACE_BITS;
	u64 result = VIVACE_ONE;
	int i;

	for (i = 0; i < VIVACE_BITS; i++)
		if (value & (VIVACE_ONE >> (i + 1)))
			result = result * roots_of_2[i] >> VIVACE_BITS;
	return whole < 0 ? result >> min(-whole, 63LL) : result << min(whole, 40LL);
}

void vivace_add(struct vivace_line *line, u32 t_us, u32 rtt_us)
{
	u32 t;
	s64 rtt;

	if (!line->samples++) {
		line->first_t = t_us;
		line->first_rtt = rtt_us;
	}
	/* Packets sent again may have been sent before the first. */
	t = max_t(s32, t_us - line->first_t, 0);
	rtt = (s64)rtt_us - line->first_rtt;
	line->sum_t += t;
	line->sum_tt += (u64)t * t;
	line->sum_rtt += rtt;
	line->sum_t_rtt += rtt * t;
}

s64 vivace_slope(const struct vivace_line *line)
{
	u32 n = line->samples;
	u64 mean_t, variance, magnitude;
	s64 covariance;

	if (n < 2)
		return 0;
	mean_t = div_u64(line->sum_t, n);
	variance = line->sum_tt - mean_t * line->sum_t;
	covariance = line->sum_t_rtt - (s64)mean_t * line->sum_rtt;
	if ((s64)variance <= 0)
		return 0;
	magnitude = mul_u64_u64_div_u64(abs(covariance), VIVACE_ONE, variance);
	return covariance < 0 ? -(s64)magnitude : (s64)magnitude;
}

s64 vivace_utility(u32 kbps, s64 slope, s64 lost_share, u32 latency, u32 loss)
{
	s64 log2_mbps = log2_of(max(kbps, 1U)) - LOG2_1000;
	s64 gain = exp2_of(div_s64(log2_mbps * EXPONENT_TENTHS, 10));
	s64 harm = (max(slope, 0LL) * latency + lost_share * loss) / THOUSAND;

	return gain - div_s64(harm * kbps, THOUSAND);
}
