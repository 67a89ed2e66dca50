// SPDX-License-Identifier: GPL-2.0
/* A recorded round-trip time: linear between points of time, periodically. */
#include <linux/math64.h>

#include "link.h"

static const struct ccbench_rtt_point *points;
static u32 count;

/* Returns the last point at or before a time within the period. */
static const struct ccbench_rtt_point *point_before(u64 time_ns)
{
	u32 low = 0, high = count;

	while (high - low > 1) {
		const u32 middle = low + (high - low) / 2;

		if (points[middle].time_ns <= time_ns)
			low = middle;
		else
			high = middle;
	}
	return &points[low];
}

u64 rtt_trace_at(u64 time_ns)
{
	const struct ccbench_rtt_point *before, *after;
	u64 since_ns, step_ns;

	div64_u64_rem(time_ns, points[count - 1].time_ns, &time_ns);
	before = point_before(time_ns);
	after = before + 1;
	since_ns = time_ns - before->time_ns;
	step_ns = after->time_ns - before->time_ns;
	if (after->rtt_ns < before->rtt_ns)
		return before->rtt_ns - mul_u64_u64_div_u64(before->rtt_ns - after->rtt_ns,
							    since_ns, step_ns);
	return before->rtt_ns + mul_u64_u64_div_u64(after->rtt_ns - before->rtt_ns, since_ns,
						    step_ns);
}

int rtt_trace_create(const struct ccbench_rtt_point *given, u32 given_count)
{
	u32 i;

	if (given_count < 2 || given[0].time_ns || !given[given_count - 1].time_ns)
		return -EINVAL;
	for (i = 1; i < given_count; i++)
		if (given[i].time_ns < given[i - 1].time_ns)
			return -EINVAL;
	points = given;
	count = given_count;
	return 0;
}
