/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* The header of XCP, and the qdisc "xcp" in netlink messages. */
#ifndef _PKT_XCP_H
#define _PKT_XCP_H

#include <linux/types.h>

/* Words of the TCP option: of a packet with data, and of a pure ACK. */
enum xcp_word {
	XCP_RTT,	/* of the sender, us; 0: unknown */
	XCP_SPACING,	/* mean time between two of its packets, ns */
	XCP_DELTA,	/* requested change of the sender's rate, bytes per second, signed */
	XCP_ECHO,	/* sum of the changes since the last echo, as far as it is known */
	XCP_WORDS,
};

#define XCP_ACK_WORDS	1	/* only the echo */

/* In the word of the RTT: a router has answered the request. */
#define XCP_ANSWERED	(1U << 31)
/* In the word of the echo: it has one. */
#define XCP_NO_ECHO	0x80000000U

/* In TCA_OPTIONS; each is an optional __u32. */
#define TCA_XCP_LIMIT		1	/* packets */
#define TCA_XCP_ALPHA		2	/* share of spare capacity, 2^-16 */
#define TCA_XCP_BETA		3	/* share of the queue, 2^-16 */
#define TCA_XCP_GAMMA		4	/* shuffled traffic, 2^-16 */
#define TCA_XCP_UPDATE		5	/* enum xcp_update */
#define TCA_XCP_RATE		6	/* of the link, kbit/s; 0: that of the device */
#define TCA_XCP_MAX		6

enum xcp_update {
	XCP_INTERVAL,	/* once per mean RTT: XCP */
	XCP_PACKET,	/* with each packet, over the last mean RTT: XCPw */
};

/* TCA_STATS_APP. */
struct tc_xcp_xstats {
	__u64 capacity;		/* bytes per second */
	__u64 input_rate;
	__s64 feedback;		/* aggregate change of rates, bytes per second */
	__u64 positive;		/* the same with shuffled traffic */
	__u64 negative;
	__u32 rtt_us;		/* mean of the flows */
	__u32 queue_bytes;	/* persistent */
	__u32 answered;		/* packets with a request */
	__u32 others;		/* packets without */
};

#endif /* _PKT_XCP_H */
