// SPDX-License-Identifier: GPL-2.0
/* TCP flows whose application offers data at a rate. */
#include "flows.h"

const struct flow_ops rate_ops = {
	.changes_rate = true,
	.is_impossible = flow_has_no_rate,
	.listen = tcp_listen_for,
	.work = tcp_work,
	.produce = flow_offer_at_start,
	.tick = tcp_rate_tick,
};
