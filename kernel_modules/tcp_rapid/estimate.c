// SPDX-License-Identifier: GPL-2.0
#include <linux/math64.h>
#include <linux/minmax.h>

#include "estimate.h"

#define FEWEST_POINTS	3

/* Delay relative to that of the first packet. */
static s32 rise(const struct rapid_points *points, u32 i)
{
	return points->delay_ns[i] - points->delay_ns[0];
}

/* Last packet with the shortest delay, starting at first. */
static u32 foot_from(const struct rapid_points *points, u32 first)
{
	u32 foot = first;
	u32 i;

	for (i = first + 1; i < points->count; i++)
		if (rise(points, i) <= rise(points, foot))
			foot = i;
	return foot;
}

static u32 peak_from(const struct rapid_points *points, u32 first)
{
	u32 peak = first;
	u32 i;

	for (i = first + 1; i < points->count; i++)
		if (rise(points, i) > rise(points, peak))
			peak = i;
	return peak;
}

/* Last packet before the peak whose delay equals that of the foot, except for noise. */
static u32 foot_with_noise(const struct rapid_points *points, u32 foot, u32 peak, u32 tolerance)
{
	u32 noise_ns = tolerance ? (rise(points, peak) - rise(points, foot)) / tolerance : 0;
	u32 i;

	for (i = peak; i > foot; i--)
		if ((u32)(rise(points, i) - rise(points, foot)) <= noise_ns)
			break;
	return i;
}

/* Slow growth does not indicate a rate above the available bandwidth. */
static bool is_slow(const struct rapid_points *points, u32 foot, u32 peak, u32 tolerance)
{
	u32 time_ns = points->sent_ns[points->count - 1] - points->sent_ns[foot];

	return tolerance && (u32)(rise(points, peak) - rise(points, foot)) < time_ns / tolerance;
}

/* Mean gap between two packets. */
static u64 gap_between(const struct rapid_points *points, u32 from, u32 to)
{
	u64 time_ns = points->sent_ns[to] - points->sent_ns[from];

	return div_u64(time_ns << RAPID_GAP_BITS, points->position[to] - points->position[from]);
}

u64 rapid_last_gap(const struct rapid_points *points)
{
	return gap_between(points, points->count - 2, points->count - 1);
}

/*
 * End of the excursion that begins at a packet: the first packet below 1/1.5 of its
 * height, or the number of packets if there is none.
 */
static u32 pathchirp_end(const struct rapid_points *points, u32 first)
{
	s32 most = 0;
	u32 i;

	for (i = first; i < points->count; i++) {
		s32 above = rise(points, i) - rise(points, first);

		most = max(most, above);
		if ((s64)above * 3 < (s64)most * 2)
			break;
	}
	return i;
}

/*
 * PathChirp (Ribeiro et al. 2003): the estimate of a gap is its own rate while the delay
 * grows in an excursion that ends. Otherwise it is the rate at the start of the excursion
 * that does not end, or the last rate. The result is their mean, weighted by the gaps.
 */
static struct rapid_estimate pathchirp_estimate(const struct rapid_points *points, u32 min_length)
{
	struct rapid_estimate estimate = { .verdict = RAPID_WITHIN };
	u32 last = points->count - 1;
	u32 otherwise = last - 1;
	u32 of[RAPID_MOST_PACKETS];
	u64 sum = 0, time_ns, gap;
	u32 start = 0, end, i;

	for (i = 0; i < last; i++)
		of[i] = RAPID_MOST_PACKETS;
	while (start < last) {
		if (rise(points, start + 1) <= rise(points, start)) {
			start++;
			continue;
		}
		end = pathchirp_end(points, start);
		if (end - start < min_length) {
			start++;
		} else if (end < points->count) {
			for (i = start; i < end; i++)
				if (rise(points, i + 1) >= rise(points, i))
					of[i] = i;
			start = end;
		} else {
			otherwise = start;
			break;
		}
	}
	for (i = 0; i < last; i++) {
		if (of[i] == RAPID_MOST_PACKETS)
			of[i] = otherwise;
		time_ns = points->sent_ns[i + 1] - points->sent_ns[i];
		gap = gap_between(points, of[i], of[i] + 1);
		sum += div64_u64(time_ns << 24, max_t(u64, gap, 1));
	}
	time_ns = points->sent_ns[last] - points->sent_ns[0];
	estimate.gap = div64_u64(time_ns << 24, max_t(u64, sum, 1));
	estimate.least_delay_ns = points->delay_ns[foot_from(points, 0)];
	if (estimate.gap >= gap_between(points, 0, 1)) {
		estimate.verdict = RAPID_BELOW;
	} else if (estimate.gap <= rapid_last_gap(points)) {
		estimate.verdict = RAPID_ABOVE;
		estimate.gap = rapid_last_gap(points);
	}
	return estimate;
}

/*
 * Finds the last excursion: from the packet with the shortest delay to the end of the
 * stream, if it is long enough and most of it remains at the end. Otherwise it was a burst
 * of cross traffic, and the search continues after its peak.
 *
 * The result is the rate around the packet at which the excursion begins.
 */
struct rapid_estimate rapid_estimate(const struct rapid_points *points, struct rapid_rule rule)
{
	struct rapid_estimate estimate = { .verdict = RAPID_UNKNOWN };
	u32 lowest, foot, peak, last;

	if (points->count < FEWEST_POINTS)
		return estimate;
	if (rule.pathchirp)
		return pathchirp_estimate(points, rule.min_length);
	last = points->count - 1;
	lowest = foot_from(points, 0);
	estimate.least_delay_ns = points->delay_ns[lowest];
	for (;;) {
		peak = peak_from(points, lowest);
		foot = foot_with_noise(points, lowest, peak, rule.tolerance);
		if (points->position[last] - points->position[foot] < rule.min_length ||
		    is_slow(points, foot, peak, rule.tolerance)) {
			estimate.verdict = RAPID_ABOVE;
			estimate.gap = rapid_last_gap(points);
			return estimate;
		}
		if ((u64)(rise(points, last) - rise(points, lowest)) * rule.decrease >=
		    (u32)(rise(points, peak) - rise(points, lowest)))
			break;
		lowest = foot_from(points, peak);
	}
	estimate.verdict = foot ? RAPID_WITHIN : RAPID_BELOW;
	estimate.gap = gap_between(points, foot ? foot - 1 : 0, foot + 1);
	return estimate;
}
