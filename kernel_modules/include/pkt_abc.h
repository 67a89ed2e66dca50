/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* The qdisc "abc": its options and statistics, as programs exchange them with it. */
#ifndef _PKT_ABC_H
#define _PKT_ABC_H

#include <linux/types.h>

/* Inside TCA_OPTIONS; every one is a __u32 and may be left out. */
#define TCA_ABC_LIMIT		1	/* packets that may wait, in each queue */
#define TCA_ABC_ETA		2	/* target utilisation, 2^-16 */
#define TCA_ABC_DELTA		3	/* in which a queue is to drain, us */
#define TCA_ABC_DELAY_THRESHOLD	4	/* queueing delay that is left alone, us */
#define TCA_ABC_WINDOW		5	/* over which rates are measured, us */
#define TCA_ABC_TOKEN_LIMIT	6	/* 2^-16 packets */
#define TCA_ABC_RATE		7	/* of the link, kbit/s; 0: not given */
#define TCA_ABC_RATE_SOURCE	8	/* enum abc_rate_source, unless TCA_ABC_RATE gives it */
#define TCA_ABC_ENCODING	9	/* enum abc_encoding */
#define TCA_ABC_FEEDBACK	10	/* enum abc_feedback */
#define TCA_ABC_LOOKAHEAD	11	/* how far ahead the device tells its rate, us */
#define TCA_ABC_TWO_QUEUES	12	/* one for packets that are not ABC's, too: 0 or 1 */
#define TCA_ABC_FLOWS		13	/* largest flows of each queue that are told apart */
#define TCA_ABC_HEADROOM	14	/* what such a flow may want besides its rate, 2^-16 of it */
#define TCA_ABC_WEIGHT_INTERVAL	15	/* between two settings of the queues' weights, us */
#define TCA_ABC_MAX		15

enum abc_rate_source {
	ABC_RATE_DEVICE,	/* as the device tells it; estimated where it does not */
	ABC_RATE_ESTIMATED,	/* from what leaves a queue that is not empty */
};

enum abc_encoding {
	ABC_PROXIED,		/* ECT: accelerate, CE: brake */
	ABC_FULL,		/* ECT(1): accelerate, ECT(0): brake, CE: congestion elsewhere */
};

enum abc_feedback {
	ABC_DEQUEUE,		/* marks compare the target with the rate of departures */
	ABC_ENQUEUE,		/* with that of arrivals */
};

/* TCA_STATS_APP. The rates are those behind the last packet's mark. */
struct tc_abc_xstats {
	__u64 link_rate;	/* ABC's share of it; bytes per second, as those below */
	__u64 target_rate;
	__u64 current_rate;	/* of departures, or of arrivals */
	__u64 abc_bytes;	/* that have left */
	__u64 other_bytes;	/* of packets that are not ABC's */
	__u32 accelerates;	/* packets that left with this mark */
	__u32 brakes;		/* those that this queue has made */
	__u32 braked_before;	/* those that came as such */
	__u32 congested_before;	/* ABC's that came with CE, in the full encoding */
	__u32 others;		/* that are not ABC's */
	__u32 fraction;		/* of accelerates, 2^-16 */
	__u32 token;		/* 2^-16 */
	__u32 delay_us;		/* that packets of ABC have to wait */
	__u32 abc_packets;	/* waiting */
	__u32 other_packets;
	__u32 weight;		/* of ABC's queue, 2^-16 */
	__u32 pad;
};

#endif /* _PKT_ABC_H */
