// SPDX-License-Identifier: GPL-2.0
/* The description of Prague, and all of the module on kernels without AccECN. */
#include "ccbench_describe.h"

/* struct tcp_prague_info */
#define INFO	CCA_INFO("alpha:u32:0.000001|window:u32:0.001|ce_packets|reductions|" \
			 "classic:u16:0.001|accecn:u8|pad:u8")

CCBENCH_CCA(prague, CCA_NEEDS_RECEIVER CCA_NEEDS_FEATURE(accecn) INFO,
	    "Prague, a scalable congestion control for L4S");
MODULE_DESCRIPTION("Prague: scalable congestion control for L4S");
MODULE_LICENSE("GPL");
