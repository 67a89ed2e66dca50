// SPDX-License-Identifier: GPL-2.0
/* Options of the qdisc: description, ranges, defaults and netlink attributes. */
#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/time64.h>
#include <net/netlink.h>

#include "ccbench_describe.h"
#include "pkt_abc.h"
#include "sch_abc.h"

/* A brake is a change of the ECN field from ECT(1) to ECT(0). */
CCBENCH_QDISC(abc, TCA_ABC_LIMIT, QDISC_MARKS QDISC_REWRITES,
	      "Accel-Brake Control: marks that accelerate or brake each sender");
CCBENCH_OPTION(abc, eta, TCA_ABC_ETA,
	       OPTION_SCALE(65536) OPTION_RANGE(0.001, 1) OPTION_DEFAULT(0.98),
	       "target utilisation of the link");
CCBENCH_OPTION(abc, delta_ms, TCA_ABC_DELTA,
	       OPTION_UNIT(ms, 1000) OPTION_RANGE(1, 100000) OPTION_DEFAULT(133),
	       "time in which the queue drains");
CCBENCH_OPTION(abc, d_t_ms, TCA_ABC_DELAY_THRESHOLD,
	       OPTION_UNIT(ms, 1000) OPTION_RANGE(0, 100000) OPTION_DEFAULT(20),
	       "tolerated queueing delay");
CCBENCH_OPTION(abc, window_ms, TCA_ABC_WINDOW,
	       OPTION_UNIT(ms, 1000) OPTION_RANGE(1, 10000) OPTION_DEFAULT(40),
	       "measurement window of rates");
CCBENCH_OPTION(abc, token_limit, TCA_ABC_TOKEN_LIMIT,
	       OPTION_UNIT(packets, 65536) OPTION_RANGE(2, 1000) OPTION_DEFAULT(5),
	       "capacity of the token bucket");
CCBENCH_OPTION(abc, rate_mbps, TCA_ABC_RATE,
	       OPTION_UNIT(Mbit/s, 1000) OPTION_RANGE(0.001, 4000000),
	       "constant rate of the link");
CCBENCH_OPTION(abc, rate, TCA_ABC_RATE_SOURCE,
	       OPTION_CHOICES(known|estimated) OPTION_DEFAULT(known),
	       "source of the link's rate: the device, or departures from the queue");
CCBENCH_OPTION(abc, encoding, TCA_ABC_ENCODING,
	       OPTION_CHOICES(proxied|full) OPTION_DEFAULT(proxied),
	       "marks: CE for a brake, or ECT(1) and ECT(0)");
CCBENCH_OPTION(abc, feedback, TCA_ABC_FEEDBACK,
	       OPTION_CHOICES(dequeue|enqueue) OPTION_DEFAULT(dequeue),
	       "rate that is compared with the target: departures or arrivals");
CCBENCH_OPTION(abc, lookahead_ms, TCA_ABC_LOOKAHEAD,
	       OPTION_UNIT(ms, 1000) OPTION_RANGE(0, 100000) OPTION_DEFAULT(0),
	       "time by which the device's rate is known in advance");
CCBENCH_OPTION(abc, two_queues, TCA_ABC_TWO_QUEUES,
	       OPTION_FLAG OPTION_DEFAULT(0),
	       "a second queue for packets of other congestion controls");
CCBENCH_OPTION(abc, largest_flows, TCA_ABC_FLOWS,
	       OPTION_RANGE(1, 64) OPTION_DEFAULT(10),
	       "number of largest flows per queue that are distinguished");
CCBENCH_OPTION(abc, headroom, TCA_ABC_HEADROOM,
	       OPTION_SCALE(65536) OPTION_RANGE(0, 1) OPTION_DEFAULT(0.1),
	       "additional demand of these flows relative to their rate");
CCBENCH_OPTION(abc, weight_interval_ms, TCA_ABC_WEIGHT_INTERVAL,
	       OPTION_UNIT(ms, 1000) OPTION_RANGE(1, 100000) OPTION_DEFAULT(200),
	       "time between updates of the queues' weights");
CCBENCH_OPTION(abc, weights, TCA_ABC_WEIGHTS,
	       OPTION_CHOICES(max_min|flow_counts) OPTION_DEFAULT(max_min),
	       "weights of the queues: max-min fair shares, or numbers of flows (RCP)");

/* Not const, because Linux 6.1 requires pointers to non-const. */
#define RANGE(name, least, most) \
	static struct netlink_range_validation name = { .min = least, .max = most }

RANGE(limit_range, 1, 10000000);
RANGE(eta_range, 1, ABC_ONE);
RANGE(delta_range, 1000, 100 * USEC_PER_SEC);
RANGE(time_range, 0, 100 * USEC_PER_SEC);
RANGE(window_range, 1000, 10 * USEC_PER_SEC);
RANGE(token_range, 2 * ABC_ONE, 1000 * ABC_ONE);
RANGE(choice_range, 0, 1);
RANGE(flows_range, 1, ABC_MAX_FLOWS);
RANGE(headroom_range, 0, ABC_ONE);
RANGE(interval_range, 1000, 100 * USEC_PER_SEC);

static const struct nla_policy abc_policy[TCA_ABC_MAX + 1] = {
	[TCA_ABC_LIMIT]			= NLA_POLICY_FULL_RANGE(NLA_U32, &limit_range),
	[TCA_ABC_ETA]			= NLA_POLICY_FULL_RANGE(NLA_U32, &eta_range),
	[TCA_ABC_DELTA]			= NLA_POLICY_FULL_RANGE(NLA_U32, &delta_range),
	[TCA_ABC_DELAY_THRESHOLD]	= NLA_POLICY_FULL_RANGE(NLA_U32, &time_range),
	[TCA_ABC_WINDOW]		= NLA_POLICY_FULL_RANGE(NLA_U32, &window_range),
	[TCA_ABC_TOKEN_LIMIT]		= NLA_POLICY_FULL_RANGE(NLA_U32, &token_range),
	[TCA_ABC_RATE]			= { .type = NLA_U32 },
	[TCA_ABC_RATE_SOURCE]		= NLA_POLICY_FULL_RANGE(NLA_U32, &choice_range),
	[TCA_ABC_ENCODING]		= NLA_POLICY_FULL_RANGE(NLA_U32, &choice_range),
	[TCA_ABC_FEEDBACK]		= NLA_POLICY_FULL_RANGE(NLA_U32, &choice_range),
	[TCA_ABC_LOOKAHEAD]		= NLA_POLICY_FULL_RANGE(NLA_U32, &time_range),
	[TCA_ABC_TWO_QUEUES]		= NLA_POLICY_FULL_RANGE(NLA_U32, &choice_range),
	[TCA_ABC_FLOWS]			= NLA_POLICY_FULL_RANGE(NLA_U32, &flows_range),
	[TCA_ABC_HEADROOM]		= NLA_POLICY_FULL_RANGE(NLA_U32, &headroom_range),
	[TCA_ABC_WEIGHT_INTERVAL]	= NLA_POLICY_FULL_RANGE(NLA_U32, &interval_range),
	[TCA_ABC_WEIGHTS]		= NLA_POLICY_FULL_RANGE(NLA_U32, &choice_range),
};

const struct abc_params abc_defaults = {
	.limit			= 1000,
	.eta			= ABC_ONE * 98 / 100,	/* as in the paper's evaluation, */
	.delta_us		= 133 * USEC_PER_MSEC,	/* for an RTT of 100 ms */
	.delay_threshold_us	= 20 * USEC_PER_MSEC,
	.window_us		= 40 * USEC_PER_MSEC,
	.token_limit		= 5 * ABC_ONE,
	.flows			= 10,
	.headroom		= ABC_ONE / 10,
	.weight_interval_us	= 200 * USEC_PER_MSEC,
};

/* Offset of each option in struct abc_params. */
static const size_t param_offsets[TCA_ABC_MAX + 1] = {
	[TCA_ABC_LIMIT]			= offsetof(struct abc_params, limit),
	[TCA_ABC_ETA]			= offsetof(struct abc_params, eta),
	[TCA_ABC_DELTA]			= offsetof(struct abc_params, delta_us),
	[TCA_ABC_DELAY_THRESHOLD]	= offsetof(struct abc_params, delay_threshold_us),
	[TCA_ABC_WINDOW]		= offsetof(struct abc_params, window_us),
	[TCA_ABC_TOKEN_LIMIT]		= offsetof(struct abc_params, token_limit),
	[TCA_ABC_RATE]			= offsetof(struct abc_params, rate_kbps),
	[TCA_ABC_RATE_SOURCE]		= offsetof(struct abc_params, rate_source),
	[TCA_ABC_ENCODING]		= offsetof(struct abc_params, encoding),
	[TCA_ABC_FEEDBACK]		= offsetof(struct abc_params, feedback),
	[TCA_ABC_LOOKAHEAD]		= offsetof(struct abc_params, lookahead_us),
	[TCA_ABC_TWO_QUEUES]		= offsetof(struct abc_params, two_queues),
	[TCA_ABC_FLOWS]			= offsetof(struct abc_params, flows),
	[TCA_ABC_HEADROOM]		= offsetof(struct abc_params, headroom),
	[TCA_ABC_WEIGHT_INTERVAL]	= offsetof(struct abc_params, weight_interval_us),
	[TCA_ABC_WEIGHTS]		= offsetof(struct abc_params, weights),
};

static u32 *param(struct abc_params *params, int attribute)
{
	return (void *)params + param_offsets[attribute];
}

/* Sets the members of `params` that are among the options. */
int abc_params_parse(struct abc_params *params, const struct nlattr *options,
		     struct netlink_ext_ack *extack)
{
	struct nlattr *attributes[TCA_ABC_MAX + 1];
	int err, i;

	err = nla_parse_nested_deprecated(attributes, TCA_ABC_MAX, options, abc_policy, extack);
	if (err < 0)
		return err;
	for (i = 1; i <= TCA_ABC_MAX; i++)
		if (attributes[i])
			*param(params, i) = nla_get_u32(attributes[i]);
	return 0;
}

/* Reads the parameters without a lock. */
int abc_params_put(struct sk_buff *skb, struct abc_params *params)
{
	int i;

	for (i = 1; i <= TCA_ABC_MAX; i++)
		if (nla_put_u32(skb, i, READ_ONCE(*param(params, i))))
			return -EMSGSIZE;
	return 0;
}
