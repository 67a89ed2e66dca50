/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What all parts of the path share: events, the flows with their routes and counters, random
 * streams, delay lines. It knows no part; main.c connects the parts by functions that it passes.
 */
#ifndef _CCBENCH_PATH_H
#define _CCBENCH_PATH_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/timerqueue.h>

#include "ccbench.h"
#include "random_stream.h"

/* ---- um/clock.h ---- */

void ccbench_clock_call(void (*fn)(void), u64 delay_ns);
bool ccbench_clock_advance(u64 delay_ns);

/* ---- events.c ---- */

/* A future event of packets; fn is called once, in softirq context. */
struct path_event {
	struct timerqueue_node node;
	void (*fn)(struct path_event *event);
};

static inline void path_event_init(struct path_event *event,
				   void (*fn)(struct path_event *event))
{
	timerqueue_init(&event->node);
	event->fn = fn;
}

void path_events_init(void);
/* Schedules an event that is not pending for a time of the monotonic clock. */
void path_event_set(struct path_event *event, u64 time_ns);
/* Removes an event if it is pending. */
void path_event_cancel(struct path_event *event);
/* The monotonic clock. */
u64 path_now_ns(void);

/* ---- path.c ---- */

extern u32 path_mtu_bytes;		/* size of a full packet */

int path_create(const struct ccbench_link_header *header);
/* Sets the first and the last bottleneck of the data of each flow. */
int path_set_routes(const u32 *first, const u32 *last);
/* Starts the clock of the experiment at a time of the monotonic clock. */
void path_start(u64 time_ns);
/* Random streams for packets without a flow, then for each flow; NULL without memory. */
struct random_stream *path_draws(const struct ccbench_link_header *header,
				 enum random_purpose purpose, u32 bottleneck);
/* Index of the first bottleneck of a packet in a direction. */
u32 path_first(u32 mark, bool reverse);
/* Whether the data of a packet's flow leave the path after a bottleneck. */
bool path_ends_at(u32 mark, u32 bottleneck);
/* Whether a direction is that of the data of a packet's flow. */
bool path_has_data(u32 mark, bool reverse);
/* Count a packet that leaves its host, and that has crossed its last bottleneck. */
void path_count_entry(struct sk_buff *skb, bool reverse);
void path_count_exit(const struct sk_buff *skb, bool reverse);
/* Count a packet dropped by a queue, lost at random, or duplicated before it. */
void path_count_drop(u32 mark, bool reverse);
void path_count_loss(u32 mark, bool reverse);
void path_count_duplicate(u32 mark, bool reverse);
/* Sets up a device for IP packets without link-layer addresses. */
void path_setup_device(struct net_device *dev);

/* ---- line.c ---- */

/* A first-in first-out delay line. */
struct line {
	struct path_event event;	/* of the first packet */
	struct sk_buff_head packets;
	u64 last_ns;			/* due time of the last packet */
	void (*deliver)(struct sk_buff *skb);
	bool retired;			/* freed after its last packet */
};

void line_init(struct line *line, void (*deliver)(struct sk_buff *skb));
/* Delivers a packet at a time of the monotonic clock, but not before its predecessor. */
void line_add(struct line *line, struct sk_buff *skb, u64 due_ns);
/* Frees a line that was allocated, after its last packet. */
void line_retire(struct line *line);

/* ---- jitter.c ---- */

/* Uniform delays from 0 to a range, with an independent random stream per flow. */
struct jitter {
	u64 range_ns;			/* 0: none */
	struct random_stream *draws;	/* for packets without a flow, then for each flow */
};

int jitter_create(struct jitter *jitter, u64 range_ns, enum random_purpose purpose,
		  const struct ccbench_link_header *header);
u64 jitter_draw_ns(struct jitter *jitter, u32 mark);

#endif /* _CCBENCH_PATH_H */
