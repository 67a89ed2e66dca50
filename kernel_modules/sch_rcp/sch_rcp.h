/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SCH_RCP_H
#define _SCH_RCP_H

#include <net/netlink.h>

#include "pkt_rcp.h"

/* Factors are in units of 2^-16, rates in bytes per second. */
#define RCP_SHIFT	16
#define RCP_ONE		(1U << RCP_SHIFT)

/* ---- options.c ---- */

extern const struct nla_policy rcp_policy[TCA_RCP_MAX + 1];
extern const u32 rcp_defaults[TCA_RCP_MAX + 1];

#endif /* _SCH_RCP_H */
