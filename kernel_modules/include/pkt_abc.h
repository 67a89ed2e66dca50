/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* Options and statistics of the qdisc "abc" in netlink messages. */
#ifndef _PKT_ABC_H
#define _PKT_ABC_H

#include <linux/types.h>

/* In TCA_OPTIONS; each is an optional __u32. */
#define TCA_ABC_LIMIT		1	/* packets per queue */
#define TCA_ABC_ETA		2	/* target utilisation, 2^-16 */
#define TCA_ABC_DELTA		3	/* time in which the queue drains, us */
#define TCA_ABC_DELAY_THRESHOLD	4	/* tolerated queueing delay, us */
#define TCA_ABC_WINDOW		5	/* measurement window of rates, us */
#define TCA_ABC_TOKEN_LIMIT	6	/* 2^-16 packets */
#define TCA_ABC_RATE		7	/* of the link, kbit/s; 0: variable */
#define TCA_ABC_RATE_SOURCE	8	/* enum abc_rate_source, without TCA_ABC_RATE */
#define TCA_ABC_ENCODING	9	/* enum abc_encoding */
#define TCA_ABC_FEEDBACK	10	/* enum abc_feedback */
#define TCA_ABC_LOOKAHEAD	11	/* time by which the device's rate is ahead, us */
#define TCA_ABC_TWO_QUEUES	12	/* second queue for packets without ABC: 0 or 1 */
#define TCA_ABC_FLOWS		13	/* number of distinguished flows per queue */
#define TCA_ABC_HEADROOM	14	/* additional demand of these flows, 2^-16 */
#define TCA_ABC_WEIGHT_INTERVAL	15	/* time between updates of the queues' weights, us */
#define TCA_ABC_WEIGHTS		16	/* enum abc_weights */
#define TCA_ABC_MAX		16

enum abc_rate_source {
	ABC_RATE_DEVICE,	/* rate of the device; estimated if unavailable */
	ABC_RATE_ESTIMATED,	/* from departures while packets wait */
};

enum abc_encoding {
	ABC_PROXIED,		/* ECT: accelerate, CE: brake */
	ABC_FULL,		/* ECT(1): accelerate, ECT(0): brake, CE: congestion elsewhere */
};

enum abc_feedback {
	ABC_DEQUEUE,		/* marks compare the target with departures */
	ABC_ENQUEUE,		/* marks compare the target with arrivals */
};

enum abc_weights {
	ABC_MAX_MIN,		/* sums of max-min fair shares */
	ABC_FLOW_COUNTS,	/* numbers of flows, as in RCP */
};

/* TCA_STATS_APP. Rates at the last marked packet. */
struct tc_abc_xstats {
	__u64 link_rate;	/* ABC's share; rates are in bytes per second */
	__u64 target_rate;
	__u64 current_rate;	/* departures or arrivals */
	__u64 abc_bytes;	/* departed bytes with ABC */
	__u64 other_bytes;	/* departed bytes without ABC */
	__u32 accelerates;	/* departed packets with this mark */
	__u32 brakes;		/* packets marked by this queue */
	__u32 braked_before;	/* packets that arrived with a brake */
	__u32 congested_before;	/* packets that arrived with CE, in the full encoding */
	__u32 others;		/* packets without ABC */
	__u32 fraction;		/* of accelerates, 2^-16 */
	__u32 token;		/* 2^-16 */
	__u32 delay_us;		/* queueing delay of ABC's queue */
	__u32 abc_packets;	/* waiting */
	__u32 other_packets;
	__u32 weight;		/* of ABC's queue, 2^-16 */
	__u32 pad;
};

#endif /* _PKT_ABC_H */
