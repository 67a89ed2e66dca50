// SPDX-License-Identifier: GPL-2.0
/* UDP flows of packets with exponentially distributed gaps. */
#include <linux/math64.h>

#include "flows.h"

static u64 tick(struct flow *flow)
{
	flow->produced++;
	return mul_u64_u64_shr(udp_gap_ns(flow), random_exponential(&flow->gaps), 32);
}

const struct flow_ops poisson_ops = {
	.is_impossible = flow_has_no_rate,
	.is_udp = true,
	.listen = udp_listen,
	.work = udp_work,
	.produce = flow_offer_at_start,
	.tick = tick,
	.send = udp_send_full,
};
