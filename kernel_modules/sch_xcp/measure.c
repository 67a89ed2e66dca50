// SPDX-License-Identifier: GPL-2.0
/* Sums over the packets of the last time. */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include "sch_xcp.h"

void xcp_measure_advance(struct xcp_measure *measure, u64 now_ns, u64 interval_ns)
{
	const u64 slot_ns = div_u64(interval_ns, XCP_SLOTS_PER_INTERVAL);

	if (measure->count && now_ns < measure->slots[measure->newest].end_ns)
		return;
	measure->newest = (measure->newest + 1) % XCP_SLOTS;
	measure->count = min(measure->count + 1, (u32)XCP_SLOTS);
	measure->slots[measure->newest] = (struct xcp_sums) {
		.start_ns = now_ns,
		.end_ns = now_ns + slot_ns,
		.least_queue = U32_MAX,
	};
}

void xcp_measure_arrival(struct xcp_measure *measure, u64 now_ns, u32 bytes)
{
	if (now_ns != measure->last_ns)
		measure->last_bytes = 0;
	measure->last_ns = now_ns;
	measure->last_bytes += bytes;
	measure->slots[measure->newest].arrived_bytes += bytes;
}

void xcp_measure_request(struct xcp_measure *measure, u32 bytes, u32 spacing_ns, u32 rtt_us)
{
	struct xcp_sums *slot = &measure->slots[measure->newest];

	slot->bytes += bytes;
	slot->spacing_ns += spacing_ns;
	slot->rtt_spacing += (u64)spacing_ns * rtt_us;
}

void xcp_measure_queue(struct xcp_measure *measure, u32 bytes)
{
	struct xcp_sums *slot = &measure->slots[measure->newest];

	slot->least_queue = min(slot->least_queue, bytes);
}

struct xcp_sums xcp_measure_sums(const struct xcp_measure *measure, u64 now_ns, u64 sums_ns,
				 u64 queue_ns)
{
	struct xcp_sums sums = {
		.start_ns = now_ns > sums_ns ? now_ns - sums_ns : 0,
		.end_ns = now_ns,
		.least_queue = U32_MAX,
	};
	u64 oldest_ns = now_ns;
	u32 i;

	for (i = 0; i < measure->count; i++) {
		const u32 at = (measure->newest + XCP_SLOTS - i) % XCP_SLOTS;
		const struct xcp_sums *slot = &measure->slots[at];
		const u64 age_ns = now_ns - slot->start_ns;

		if (age_ns <= sums_ns) {
			sums.arrived_bytes += slot->arrived_bytes;
			sums.bytes += slot->bytes;
			sums.spacing_ns += slot->spacing_ns;
			sums.rtt_spacing += slot->rtt_spacing;
			oldest_ns = slot->start_ns;
		} else if (slot->end_ns > sums.start_ns) {
			/* A slot that began earlier and ends later does not count. */
			sums.start_ns = oldest_ns;
		}
		if (age_ns <= queue_ns)
			sums.least_queue = min(sums.least_queue, slot->least_queue);
		if (age_ns > max(sums_ns, queue_ns))
			break;
	}
	/* Packets that arrive now belong to the time until the next ones. */
	if (measure->last_ns == now_ns)
		sums.arrived_bytes -= min_t(u64, sums.arrived_bytes, measure->last_bytes);
	return sums;
}
