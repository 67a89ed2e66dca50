/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _SCH_ABC_H
#define _SCH_ABC_H

#include <linux/types.h>

struct netlink_ext_ack;
struct nlattr;
struct sk_buff;

/* Fractions and weights are in units of 2^-16, rates in bytes per second. */
#define ABC_SHIFT	16
#define ABC_ONE		(1U << ABC_SHIFT)

/* ---- marks.c ---- */

enum abc_mark { NOT_ABC, ACCELERATE, BRAKE, CONGESTED };

enum abc_mark abc_mark_of(struct sk_buff *skb, u32 encoding);
void abc_make_brake(struct sk_buff *skb, u32 encoding);

/* ---- options.c ---- */

struct abc_params {
	u32 limit;
	u32 eta;
	u32 delta_us;
	u32 delay_threshold_us;
	u32 window_us;
	u32 token_limit;
	u32 rate_kbps;
	u32 rate_source;
	u32 encoding;
	u32 feedback;
	u32 lookahead_us;
	u32 two_queues;
	u32 flows;
	u32 headroom;
	u32 weight_interval_us;
	u32 weights;
};

extern const struct abc_params abc_defaults;

int abc_params_parse(struct abc_params *params, const struct nlattr *options,
		     struct netlink_ext_ack *extack);
int abc_params_put(struct sk_buff *skb, struct abc_params *params);

/* ---- meter.c ---- */

/*
 * A rate over a sliding window. Bytes count as spread evenly until the next addition, as a
 * packet is on a link until the next one, so the rate has no steps of a packet's size.
 */
#define METER_SLOTS	512

struct abc_meter {
	u64 window_ns;
	u64 finest_ns;		/* closer additions share a slot */
	u64 total;		/* of all slots */
	u32 first;
	u32 count;
	struct {
		u64 start_ns;
		u64 bytes;
	} slots[METER_SLOTS];
};

void abc_meter_init(struct abc_meter *meter, u64 window_ns);
void abc_meter_add(struct abc_meter *meter, u64 now_ns, u32 bytes);
u64 abc_meter_rate(struct abc_meter *meter, u64 now_ns);

/* ---- weights.c ---- */

#define ABC_MAX_FLOWS	64
/* Minimum service for a queue whose flows have only started. */
#define ABC_LEAST_WEIGHT	(ABC_ONE / 64)

/* Largest flows of a queue by the Space-Saving algorithm. */
struct abc_flows {
	u64 total;		/* bytes of all flows */
	u32 count;
	struct abc_flow {
		u32 hash;
		u64 bytes;	/* upper bound */
		u64 error;	/* maximum error of bytes */
	} flows[ABC_MAX_FLOWS];
};

void abc_flows_count(struct abc_flows *flows, u32 limit, u32 hash, u32 bytes);
/*
 * Returns the share of the first of two queues in a link of `capacity` bytes per interval,
 * by the bytes that their flows have sent in that interval.
 */
u32 abc_fair_weight(const struct abc_flows queues[2], u64 capacity, u32 headroom);

/* ---- zombies.c ---- */

#define ABC_ZOMBIES	1000

/* Recent packets of a queue, as a sample of its flows. */
struct abc_zombies {
	u64 hits;		/* share of packets whose flow is that of a zombie, 2^-32 */
	u32 random;
	u32 count;
	u32 hashes[ABC_ZOMBIES];
};

void abc_zombies_count(struct abc_zombies *zombies, u32 hash);
/* Returns the share of the first of two queues, by their numbers of flows. */
u32 abc_zombies_weight(const struct abc_zombies zombies[2]);

#endif /* _SCH_ABC_H */
