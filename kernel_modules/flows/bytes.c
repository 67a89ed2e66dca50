// SPDX-License-Identifier: GPL-2.0
/* TCP flows of a given size. */
#include "flows.h"

static void produce(struct flow *flow)
{
	flow->produced = flow->spec->size_bytes;
}

static void delivered(struct flow *flow)
{
	if (flow->delivered_bytes == flow->spec->size_bytes)
		flow->end_ns = ccbench_now_ns();
}

const struct flow_ops bytes_ops = {
	.has_size = true,
	.listen = tcp_listen_for,
	.work = tcp_work,
	.produce = produce,
	.delivered = delivered,
};
