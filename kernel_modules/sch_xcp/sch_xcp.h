/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SCH_XCP_H
#define _SCH_XCP_H

#include <linux/types.h>
#include <net/netlink.h>

#include "pkt_xcp.h"

/* Factors are in units of 2^-16, rates in bytes per second. */
#define XCP_SHIFT	16
#define XCP_ONE		(1U << XCP_SHIFT)

/* Longest RTT of a flow, and the bounds of the mean, which is the control interval. */
#define XCP_MOST_RTT_US		1000000U
#define XCP_LEAST_RTT_US	1000U

/* ---- options.c ---- */

extern const struct nla_policy xcp_policy[TCA_XCP_MAX + 1];
extern const u32 xcp_defaults[TCA_XCP_MAX + 1];

/* ---- measure.c ---- */

/* Sums over a time. */
struct xcp_sums {
	u64 start_ns;
	u64 end_ns;		/* of a slot: no later packet counts */
	u64 arrived_bytes;
	/* Of packets that have left, with a request: */
	u64 bytes;
	u64 spacing_ns;		/* times between the packets of a flow */
	u64 rtt_spacing;	/* the same times its RTT, in us */
	u32 least_queue;	/* bytes; U32_MAX: unknown */
};

/*
 * Sums over the last time, in slots. A slot is a fraction of the control interval, so that the
 * slots of one interval are few, and the oldest one adds little.
 */
#define XCP_SLOTS		64
#define XCP_SLOTS_PER_INTERVAL	16

struct xcp_measure {
	struct xcp_sums slots[XCP_SLOTS];
	u32 newest;
	u32 count;
	u64 last_ns;		/* the last arrival, which is not yet part of a rate */
	u32 last_bytes;
};

/* Starts a slot if the newest one is older than a fraction of the interval. */
void xcp_measure_advance(struct xcp_measure *measure, u64 now_ns, u64 interval_ns);
void xcp_measure_arrival(struct xcp_measure *measure, u64 now_ns, u32 bytes);
void xcp_measure_request(struct xcp_measure *measure, u32 bytes, u32 spacing_ns, u32 rtt_us);
void xcp_measure_queue(struct xcp_measure *measure, u32 bytes);
/*
 * Returns the sums of the slots that began within a time, with the start of the time that they
 * cover, and the least queue of another time.
 */
struct xcp_sums xcp_measure_sums(const struct xcp_measure *measure, u64 now_ns, u64 sums_ns,
				 u64 queue_ns);

#endif /* _SCH_XCP_H */
