// SPDX-License-Identifier: GPL-2.0
/* Options of the qdisc: description, ranges and defaults. */
#include "ccbench_describe.h"
#include "pkt_rcp.h"
#include "qdisc_options.h"
#include "sch_rcp.h"

/* The offer is a change of the TCP option. */
CCBENCH_QDISC(rcp, TCA_RCP_LIMIT, QDISC_REWRITES,
	      "RCP: offers one rate to all flows, which is their share of the link");
CCBENCH_OPTION(rcp, alpha, TCA_RCP_ALPHA,
	       OPTION_SCALE(65536) OPTION_RANGE(0, 4) OPTION_DEFAULT(0.5),
	       "share of the spare capacity that flows are offered per round trip");
CCBENCH_OPTION(rcp, beta, TCA_RCP_BETA,
	       OPTION_SCALE(65536) OPTION_RANGE(0, 4) OPTION_DEFAULT(0.25),
	       "share of the queue that is drained per round trip");
CCBENCH_OPTION(rcp, eta, TCA_RCP_ETA,
	       OPTION_SCALE(65536) OPTION_RANGE(0.001, 1) OPTION_DEFAULT(0.95),
	       "target utilisation of the link");
CCBENCH_OPTION(rcp, interval_ms, TCA_RCP_INTERVAL,
	       OPTION_UNIT(ms, 1000) OPTION_RANGE(1, 10000) OPTION_DEFAULT(10),
	       "time between updates of the rate, if the mean RTT is longer");
CCBENCH_OPTION(rcp, rate_mbps, TCA_RCP_RATE,
	       OPTION_UNIT(Mbit/s, 1000) OPTION_RANGE(0.001, 4000000),
	       "constant rate of the link");

QDISC_RANGE(limit_range, 1, 10000000);
QDISC_RANGE(gain_range, 0, 4 * RCP_ONE);
QDISC_RANGE(share_range, 1, RCP_ONE);
QDISC_RANGE(interval_range, 1000, 10 * USEC_PER_SEC);

const struct nla_policy rcp_policy[TCA_RCP_MAX + 1] = {
	[TCA_RCP_LIMIT]		= NLA_POLICY_FULL_RANGE(NLA_U32, &limit_range),
	[TCA_RCP_ALPHA]		= NLA_POLICY_FULL_RANGE(NLA_U32, &gain_range),
	[TCA_RCP_BETA]		= NLA_POLICY_FULL_RANGE(NLA_U32, &gain_range),
	[TCA_RCP_ETA]		= NLA_POLICY_FULL_RANGE(NLA_U32, &share_range),
	[TCA_RCP_INTERVAL]	= NLA_POLICY_FULL_RANGE(NLA_U32, &interval_range),
	[TCA_RCP_RATE]		= { .type = NLA_U32 },
};

/* alpha and beta as in ABC's evaluation, the rest as in the simulator of RCP's authors. */
const u32 rcp_defaults[TCA_RCP_MAX + 1] = {
	[TCA_RCP_LIMIT]		= 1000,
	[TCA_RCP_ALPHA]		= RCP_ONE / 2,
	[TCA_RCP_BETA]		= RCP_ONE / 4,
	[TCA_RCP_ETA]		= RCP_ONE * 95 / 100,
	[TCA_RCP_INTERVAL]	= 10 * USEC_PER_MSEC,
};
