// SPDX-License-Identifier: GPL-2.0
/* TCP flows with unlimited data, unless a change limits their rate. */
#include "flows.h"

const struct flow_ops bulk_ops = {
	.is_unlimited = true,
	.changes_rate = true,
	.listen = tcp_listen_for,
	.work = tcp_work,
	.produce = flow_offer_at_start,
	.tick = tcp_rate_tick,
};
