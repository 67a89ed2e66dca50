// SPDX-License-Identifier: GPL-2.0
/* Options of the qdisc: description, ranges and defaults. */
#include "ccbench_describe.h"
#include "pkt_xcp.h"
#include "qdisc_options.h"
#include "sch_xcp.h"

/* The answer is a change of the TCP option. */
CCBENCH_QDISC(xcp, TCA_XCP_LIMIT, QDISC_REWRITES,
	      "XCP: grants changes of each flow's rate, to use the link and to share it");
CCBENCH_OPTION(xcp, alpha, TCA_XCP_ALPHA,
	       OPTION_SCALE(65536) OPTION_RANGE(0, 4) OPTION_DEFAULT(0.4),
	       "share of the spare capacity that an interval grants");
CCBENCH_OPTION(xcp, beta, TCA_XCP_BETA,
	       OPTION_SCALE(65536) OPTION_RANGE(0, 4) OPTION_DEFAULT(0.226),
	       "share of the persistent queue that an interval drains");
CCBENCH_OPTION(xcp, gamma, TCA_XCP_GAMMA,
	       OPTION_SCALE(65536) OPTION_RANGE(0, 1) OPTION_DEFAULT(0.1),
	       "share of the traffic that is shuffled between flows");
CCBENCH_OPTION(xcp, update, TCA_XCP_UPDATE,
	       OPTION_CHOICES(interval|packet) OPTION_DEFAULT(interval),
	       "when the change is computed: once per round trip, or with each packet (XCPw)");
CCBENCH_OPTION(xcp, rate_mbps, TCA_XCP_RATE,
	       OPTION_UNIT(Mbit/s, 1000) OPTION_RANGE(0.001, 4000000),
	       "constant rate of the link");

QDISC_RANGE(limit_range, 1, 10000000);
QDISC_RANGE(gain_range, 0, 4 * XCP_ONE);
QDISC_RANGE(share_range, 0, XCP_ONE);
QDISC_RANGE(choice_range, 0, 1);

const struct nla_policy xcp_policy[TCA_XCP_MAX + 1] = {
	[TCA_XCP_LIMIT]		= NLA_POLICY_FULL_RANGE(NLA_U32, &limit_range),
	[TCA_XCP_ALPHA]		= NLA_POLICY_FULL_RANGE(NLA_U32, &gain_range),
	[TCA_XCP_BETA]		= NLA_POLICY_FULL_RANGE(NLA_U32, &gain_range),
	[TCA_XCP_GAMMA]		= NLA_POLICY_FULL_RANGE(NLA_U32, &share_range),
	[TCA_XCP_UPDATE]	= NLA_POLICY_FULL_RANGE(NLA_U32, &choice_range),
	[TCA_XCP_RATE]		= { .type = NLA_U32 },
};

/* As in the paper. */
const u32 xcp_defaults[TCA_XCP_MAX + 1] = {
	[TCA_XCP_LIMIT]	= 1000,
	[TCA_XCP_ALPHA]	= XCP_ONE * 4 / 10,
	[TCA_XCP_BETA]	= XCP_ONE * 226 / 1000,
	[TCA_XCP_GAMMA]	= XCP_ONE / 10,
};
