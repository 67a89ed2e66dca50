// SPDX-License-Identifier: GPL-2.0
/* TCP flows that alternate between unlimited data and silence. */
#include "flows.h"

static bool is_impossible(const struct ccbench_flow_spec *spec)
{
	return !spec->on_ns || !spec->off_ns;
}

static u64 tick(struct flow *flow)
{
	flow->on = !flow->on;
	flow->produced = flow->on ? UNLIMITED : 0;
	return flow->on ? flow->spec->on_ns : flow->spec->off_ns;
}

const struct flow_ops onoff_ops = {
	.is_impossible = is_impossible,
	.listen = tcp_listen_for,
	.work = tcp_work,
	.produce = flow_tick_at_start,
	.tick = tick,
};
