// SPDX-License-Identifier: GPL-2.0
/* UDP flows of frames, whose packets leave at once. */
#include <linux/math64.h>

#include "flows.h"

#define UHZ_PER_HZ	1000000ULL

static bool is_impossible(const struct ccbench_flow_spec *spec)
{
	return !spec->frame_uhz || !spec->frames;
}

static u64 tick(struct flow *flow)
{
	flow->produced++;
	flow->timer_rest += NSEC_PER_SEC * UHZ_PER_HZ;
	return div64_u64_rem(flow->timer_rest, flow->spec->frame_uhz, &flow->timer_rest);
}

static void send_frame(struct flow *flow)
{
	const size_t full = udp_payload_bytes(flow);
	u64 left;

	for (left = flow->frames[flow->next_frame]; left; left -= min_t(u64, left, full))
		udp_send(flow, min_t(u64, left, full));
	flow->next_frame = (flow->next_frame + 1) % flow->spec->frames;
}

const struct flow_ops frames_ops = {
	.is_impossible = is_impossible,
	.is_udp = true,
	.listen = udp_listen,
	.work = udp_work,
	.produce = flow_tick_at_start,
	.tick = tick,
	.send = send_frame,
};
