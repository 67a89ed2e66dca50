// SPDX-License-Identifier: GPL-2.0
/*
 * Jitter of busy Wi-Fi channels, after the model in draft-huitema-ccwg-c4-test: collision
 * avoidance takes N1 slots of 1 ms, and in a share of the packets, retransmissions take N2
 * slots of 7.5 ms. N1 and N2 have Poisson distributions with means 1 and 12; if N1 is
 * positive, a uniform part of a slot is subtracted. The share follows from the target.
 */
#include <linux/math64.h>

#include "link.h"

#define AVOIDANCE_NS		NSEC_PER_MSEC
#define AVOIDANCE_MEAN		1
#define RETRANSMISSION_NS	(7500 * NSEC_PER_USEC)
#define RETRANSMISSION_MEAN	12
/* All packets have retransmissions from this target on, and none below AVOIDANCE_NS. */
#define HIGHEST_TARGET_NS	(91 * NSEC_PER_MSEC)

bool has_wifi_jitter;

static struct random_stream *draws;	/* for packets without a flow, then for each flow */
static u64 share;			/* with retransmissions, in units of 2^-32 */

/* Draws from a Poisson distribution: the number of events before a time. */
static u32 draw_poisson(struct random_stream *stream, u32 mean)
{
	const u64 end = (u64)mean << 32;
	u64 time = random_exponential(stream);
	u32 events = 0;

	for (; time < end; time += random_exponential(stream))
		events++;
	return events;
}

u64 wifi_jitter_draw_ns(u32 mark)
{
	struct random_stream *stream = &draws[ccbench_flow(mark) + 1];
	const u32 slots = draw_poisson(stream, AVOIDANCE_MEAN);
	u64 delay_ns = slots * AVOIDANCE_NS;

	if (slots)
		delay_ns -= mul_u64_u32_shr(AVOIDANCE_NS, random_u32(stream), 32);
	if (random_u32(stream) < share)
		delay_ns += draw_poisson(stream, RETRANSMISSION_MEAN) * RETRANSMISSION_NS;
	return delay_ns;
}

void wifi_jitter_set(u64 target_ns)
{
	const u64 above_ns = clamp(target_ns, AVOIDANCE_NS, HIGHEST_TARGET_NS) - AVOIDANCE_NS;

	has_wifi_jitter = target_ns;
	share = div64_u64(above_ns << 32, HIGHEST_TARGET_NS - AVOIDANCE_NS);
}

int wifi_jitter_enable(const struct ccbench_link_header *header)
{
	if (!draws)
		draws = path_draws(header, RANDOM_WIFI_JITTER, 0);
	return draws ? 0 : -ENOMEM;
}
