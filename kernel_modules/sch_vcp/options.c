// SPDX-License-Identifier: GPL-2.0
/* Options of the qdisc: description, ranges and defaults. */
#include "ccbench_describe.h"
#include "pkt_vcp.h"
#include "qdisc_options.h"
#include "sch_vcp.h"

/* A load that is not an overload is a change from ECT(1) to ECT(0). */
CCBENCH_QDISC(vcp, TCA_VCP_LIMIT, QDISC_MARKS QDISC_REWRITES,
	      "VCP: states the load of the link in the bits of ECN");
CCBENCH_OPTION(vcp, interval_ms, TCA_VCP_INTERVAL,
	       OPTION_UNIT(ms, 1000) OPTION_RANGE(1, 10000) OPTION_DEFAULT(200),
	       "time over which the load is measured");
CCBENCH_OPTION(vcp, gamma, TCA_VCP_GAMMA,
	       OPTION_SCALE(65536) OPTION_RANGE(0.001, 1) OPTION_DEFAULT(0.98),
	       "target utilisation of the link, which is a load of 1");
CCBENCH_OPTION(vcp, kappa, TCA_VCP_KAPPA,
	       OPTION_SCALE(65536) OPTION_RANGE(0, 4) OPTION_DEFAULT(0.5),
	       "weight of the queue in the load");
CCBENCH_OPTION(vcp, rate_mbps, TCA_VCP_RATE,
	       OPTION_UNIT(Mbit/s, 1000) OPTION_RANGE(0.001, 4000000),
	       "constant rate of the link");

QDISC_RANGE(limit_range, 1, 10000000);
QDISC_RANGE(interval_range, 1000, 10 * USEC_PER_SEC);
QDISC_RANGE(share_range, 1, VCP_ONE);
QDISC_RANGE(weight_range, 0, 4 * VCP_ONE);

const struct nla_policy vcp_policy[TCA_VCP_MAX + 1] = {
	[TCA_VCP_LIMIT]		= NLA_POLICY_FULL_RANGE(NLA_U32, &limit_range),
	[TCA_VCP_INTERVAL]	= NLA_POLICY_FULL_RANGE(NLA_U32, &interval_range),
	[TCA_VCP_GAMMA]		= NLA_POLICY_FULL_RANGE(NLA_U32, &share_range),
	[TCA_VCP_KAPPA]		= NLA_POLICY_FULL_RANGE(NLA_U32, &weight_range),
	[TCA_VCP_RATE]		= { .type = NLA_U32 },
};

/* As in the paper. */
const u32 vcp_defaults[TCA_VCP_MAX + 1] = {
	[TCA_VCP_LIMIT]		= 1000,
	[TCA_VCP_INTERVAL]	= 200 * USEC_PER_MSEC,
	[TCA_VCP_GAMMA]		= VCP_ONE * 98 / 100,
	[TCA_VCP_KAPPA]		= VCP_ONE / 2,
};
