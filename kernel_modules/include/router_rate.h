/* SPDX-License-Identifier: GPL-2.0 */
/* The rate of a router's link, for qdiscs with explicit congestion control. */
#ifndef _ROUTER_RATE_H
#define _ROUTER_RATE_H

#include <linux/math64.h>
#include <linux/module.h>
#include <linux/time64.h>
#include <net/pkt_sched.h>

#include "link_capacity.h"

typedef typeof(ccbench_link_capacity) *router_capacity;

/*
 * Returns the bytes per second that the link could carry between two times: a given rate, or
 * that of an emulated link. 0 if neither is known.
 */
static inline u64 router_rate(struct Qdisc *sch, router_capacity capacity, u32 given_kbps,
			      u64 from_ns, u64 to_ns)
{
	s64 bytes;

	if (given_kbps)
		return given_kbps * 125ULL;
	if (!capacity || to_ns <= from_ns)
		return 0;
	bytes = capacity(qdisc_dev(sch), from_ns, to_ns);
	return bytes > 0 ? mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, to_ns - from_ns) : 0;
}

#endif /* _ROUTER_RATE_H */
