// SPDX-License-Identifier: GPL-2.0
/* UDP flows of evenly spaced packets. */
#include "flows.h"

static u64 tick(struct flow *flow)
{
	flow->produced++;
	return udp_gap_ns(flow);
}

const struct flow_ops cbr_ops = {
	.changes_rate = true,
	.is_impossible = flow_has_no_rate,
	.is_udp = true,
	.listen = udp_listen,
	.work = udp_work,
	.produce = flow_offer_at_start,
	.tick = tick,
	.send = udp_send_full,
};
