/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SCH_VCP_H
#define _SCH_VCP_H

#include <net/netlink.h>

#include "pkt_vcp.h"

/* Factors are in units of 2^-16, rates in bytes per second. */
#define VCP_SHIFT	16
#define VCP_ONE		(1U << VCP_SHIFT)

/* ---- options.c ---- */

extern const struct nla_policy vcp_policy[TCA_VCP_MAX + 1];
extern const u32 vcp_defaults[TCA_VCP_MAX + 1];

#endif /* _SCH_VCP_H */
