/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* The marks of VCP, and the qdisc "vcp" in netlink messages. */
#ifndef _PKT_VCP_H
#define _PKT_VCP_H

#include <linux/types.h>

/* The load of a link, in the ECN field of packets, and in the echo of the TCP option. */
enum vcp_load {
	VCP_NONE,	/* no packet of VCP */
	VCP_LOW,	/* below four fifths of the target */
	VCP_HIGH,
	VCP_OVERLOAD,	/* at the target or more */
};

/* In TCA_OPTIONS; each is an optional __u32. */
#define TCA_VCP_LIMIT		1	/* packets */
#define TCA_VCP_INTERVAL	2	/* of measurement, us */
#define TCA_VCP_GAMMA		3	/* target utilisation, 2^-16 */
#define TCA_VCP_KAPPA		4	/* weight of the queue, 2^-16 */
#define TCA_VCP_RATE		5	/* of the link, kbit/s; 0: that of the device */
#define TCA_VCP_MAX		5

/* TCA_STATS_APP, of the last interval. */
struct tc_vcp_xstats {
	__u64 capacity;		/* bytes per second */
	__u64 input_rate;
	__u32 load;		/* load factor, 2^-16 */
	__u32 code;		/* enum vcp_load */
	__u32 queue_bytes;	/* mean */
	__u32 marked[4];	/* departed packets by enum vcp_load */
	__u32 pad;
};

#endif /* _PKT_VCP_H */
