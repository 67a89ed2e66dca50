// SPDX-License-Identifier: GPL-2.0
/*
 * Weights of two queues for equal rates of their long flows (section 4.3).
 *
 * Each queue measures the rates of its largest flows; all others are short. The demand of a
 * large flow is slightly above its rate, that of short flows is their rate. The weight of a
 * queue is the sum of the max-min fair shares of its flows.
 */
#include <linux/limits.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "sch_abc.h"

/* Metwally et al., "Efficient Computation of Frequent and Top-k Elements in Data Streams", 2005. */
void abc_flows_count(struct abc_flows *flows, u32 limit, u32 hash, u32 bytes)
{
	struct abc_flow *least = &flows->flows[0];
	u32 i;

	flows->total += bytes;
	for (i = 0; i < flows->count; i++) {
		struct abc_flow *flow = &flows->flows[i];

		if (flow->hash == hash) {
			flow->bytes += bytes;
			return;
		}
		if (flow->bytes < least->bytes)
			least = flow;
	}
	if (flows->count < limit) {
		flows->flows[flows->count++] = (struct abc_flow) { hash, bytes, 0 };
		return;
	}
	/* The new flow replaces the smallest and takes over its count. */
	least->error = least->bytes;
	least->bytes += bytes;
	least->hash = hash;
}

/* Lower bound of a flow's bytes. */
static u64 sent(const struct abc_flow *flow)
{
	return flow->bytes - flow->error;
}

static u64 short_flows(const struct abc_flows *queue)
{
	u64 bytes = queue->total;
	u32 i;

	for (i = 0; i < queue->count; i++)
		bytes -= sent(&queue->flows[i]);
	return bytes;
}

static u64 demand(const struct abc_flow *flow, u32 headroom)
{
	return sent(flow) + mul_u64_u32_shr(sent(flow), headroom, ABC_SHIFT);
}

/*
 * Returns the maximum share of a flow: flows with a lower demand get their demand, and the
 * others share the rest. The level rises until it is consistent with the shares.
 */
static u64 fair_level(const struct abc_flows queues[2], u64 capacity, u32 headroom)
{
	u64 level = 0;
	bool settled = false;

	while (!settled) {
		u64 left = capacity;
		u32 wanting = 0;
		u64 next;
		u32 i, q;

		for (q = 0; q < 2; q++) {
			for (i = 0; i < queues[q].count; i++) {
				u64 wanted = demand(&queues[q].flows[i], headroom);

				if (wanted > level)
					wanting++;
				else
					left -= min(left, wanted);
			}
		}
		if (!wanting)
			return U64_MAX;
		next = div_u64(left, wanting);
		settled = next <= level;
		level = max(level, next);
	}
	return level;
}

u32 abc_fair_weight(const struct abc_flows queues[2], u64 capacity, u32 headroom)
{
	u64 shorts[2] = { short_flows(&queues[0]), short_flows(&queues[1]) };
	u64 shares[2] = { shorts[0], shorts[1] };
	u64 level = fair_level(queues, capacity - min(capacity, shorts[0] + shorts[1]), headroom);
	u32 weight, i, q;

	for (q = 0; q < 2; q++)
		for (i = 0; i < queues[q].count; i++)
			shares[q] += min(demand(&queues[q].flows[i], headroom), level);
	/* If only one queue has traffic, it gets the whole link. */
	if (!shares[1])
		return ABC_ONE;
	if (!shares[0])
		return ABC_LEAST_WEIGHT;
	weight = mul_u64_u64_div_u64(shares[0], ABC_ONE, shares[0] + shares[1]);
	return clamp(weight, ABC_LEAST_WEIGHT, ABC_ONE - ABC_LEAST_WEIGHT);
}
