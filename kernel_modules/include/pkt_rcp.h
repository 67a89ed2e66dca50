/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* The header of RCP, and the qdisc "rcp" in netlink messages. */
#ifndef _PKT_RCP_H
#define _PKT_RCP_H

#include <linux/types.h>

/* Words of the TCP option: of a packet with data, and of a pure ACK. */
enum rcp_word {
	RCP_RTT,	/* of the sender, us; 0: unknown */
	RCP_RATE,	/* lowest rate of the routers so far, bytes per second */
	RCP_ECHO,	/* the last rate that has arrived, or RCP_NO_RATE */
	RCP_WORDS,
};

#define RCP_ACK_WORDS	1	/* only the echo */

/* No router has set a rate. */
#define RCP_NO_RATE	0xffffffffU

/* In TCA_OPTIONS; each is an optional __u32. */
#define TCA_RCP_LIMIT		1	/* packets */
#define TCA_RCP_ALPHA		2	/* share of spare capacity, 2^-16 */
#define TCA_RCP_BETA		3	/* share of the queue, 2^-16 */
#define TCA_RCP_ETA		4	/* target utilisation, 2^-16 */
#define TCA_RCP_INTERVAL	5	/* between updates, us; at most the mean RTT */
#define TCA_RCP_RATE		6	/* of the link, kbit/s; 0: that of the device */
#define TCA_RCP_MAX		6

/* TCA_STATS_APP. */
struct tc_rcp_xstats {
	__u64 capacity;		/* bytes per second */
	__u64 input_rate;	/* in the last interval */
	__u64 flow_rate;	/* of each flow */
	__u32 rtt_us;		/* mean of the flows */
	__u32 answered;		/* packets with a rate */
	__u32 others;		/* packets without */
	__u32 updates;
};

#endif /* _PKT_RCP_H */
