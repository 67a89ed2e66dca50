/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The emulated path.
 *
 *   sender --> bottleneck 0 --> ... --> bottleneck n-1 --> receiver
 *      ^                                                      |
 *      +------------ delay (the whole base RTT) <-------------+
 *
 * What a congestion control algorithm, or a queue, can see of propagation is
 * the sum over the loop, so all of it stands on the way back. That saves a
 * timer for every data packet: what leaves the last bottleneck arrives at once.
 */
#ifndef _CCBENCH_LINK_H
#define _CCBENCH_LINK_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/timerqueue.h>

#include "ccbench.h"
#include "random_stream.h"

/* ---- the kernel that ccbench builds (um/clock.h) ---- */

void ccbench_clock_call(void (*fn)(void), u64 delay_ns);
bool ccbench_clock_advance(u64 delay_ns);

/* ---- events.c ---- */

/* Something that is to happen to packets; it calls fn once, in softirq context. */
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
/* Sets an event that is not pending to a time of the monotonic clock. */
void path_event_set(struct path_event *event, u64 time_ns);
/* The monotonic clock. */
u64 path_now_ns(void);

/* ---- wifi.c ---- */

struct bottleneck;

/* What makes a link one of Wi-Fi. */
struct wifi;

struct wifi *wifi_create(const struct ccbench_bottleneck *spec, const u32 *bitrates_kbps,
			 struct random_stream random);
/* Takes a packet that has left the queue. */
void wifi_hold(struct wifi *wifi, struct sk_buff *skb);
/* Sends the next batch; false if there is nothing to send. */
bool wifi_start(struct bottleneck *link);
/* The block ACK of the batch has come; its packets go to the list. */
void wifi_finish(struct bottleneck *link, struct sk_buff_head *packets);
/* What the link could carry, as far as its last batches tell; 0 before the first. */
u64 wifi_estimate_bps(const struct wifi *wifi);

/* ---- bottleneck.c ---- */

/*
 * A link with a queue. The queue is the root qdisc of a network device, so any
 * qdisc can be attached to it; the link takes one packet at a time from it.
 */
struct bottleneck {
	struct net_device *dev;
	u8 index;
	bool last;

	/* The link: a constant rate, or else a trace, or Wi-Fi. */
	u64 rate_bps;
	const u32 *trace_ms;
	u32 trace_length;
	u32 trace_next;		/* index of the next opportunity */
	u64 trace_base_ms;	/* when the current round of the trace began */

	struct wifi *wifi;

	struct path_event sent;	/* the packet in service, or a piece of it, or a batch */
	struct sk_buff *in_service;	/* Wi-Fi: the first of its batch */
	u64 free_ns;		/* when the link has sent what it carries */
	u64 free_rest;		/* the part of free_ns below 1 ns, in 1/rate_bps ns */
	u32 credit_bytes;	/* of the current opportunity */
	u32 sent_bytes;		/* of the packet in service */
	bool spending;		/* an opportunity is being used */

	/* The queue. */
	const struct sk_buff *arriving;	/* what is being given to the qdisc */
	bool orphaned;		/* the qdisc has taken the destructor from it */
	u64 loss_every;		/* one of so many packets is lost; 0: none */
	u64 since_loss;
	u32 loss;		/* probability in units of 2^-32 */
	struct random_stream *loss_draws;	/* of packets without a flow, then of each flow */
	struct random_stream background_loss;
};

int bottleneck_create(struct bottleneck *link, u8 index, bool last,
		      const struct ccbench_link_header *header,
		      const struct ccbench_bottleneck *spec, const u32 *trace_ms);
void bottleneck_receive(struct bottleneck *link, struct sk_buff *skb);
/* The next packet, which has left the queue for the link, or NULL. */
struct sk_buff *bottleneck_take(struct bottleneck *link);

/* ---- background.c ---- */

int background_create(const struct ccbench_link_header *header,
		      const struct ccbench_bottleneck *specs, struct bottleneck *links);
/* The experiment begins at this time of the monotonic clock. */
void background_start(u64 epoch_ns);

/* ---- line.c ---- */

/* Packets that wait until they are due, and do not overtake each other. */
struct line {
	struct path_event event;	/* the first of them is due */
	struct sk_buff_head packets;
	u64 last_ns;			/* when the last of them is due */
	void (*deliver)(struct sk_buff *skb);
};

void line_init(struct line *line, void (*deliver)(struct sk_buff *skb));
/* The packet is due at a time of the monotonic clock, or when the one before it is. */
void line_add(struct line *line, struct sk_buff *skb, u64 due_ns);

/* ---- jitter.c ---- */

/* Uniform delays from 0 to a range, drawn from a stream of each flow's own. */
struct jitter {
	u64 range_ns;			/* 0: there is none */
	struct random_stream *draws;	/* of packets without a flow, then of each flow */
};

int jitter_create(struct jitter *jitter, u64 range_ns, enum random_purpose purpose,
		  const struct ccbench_link_header *header);
u64 jitter_draw_ns(struct jitter *jitter, u32 mark);

/* ---- departure.c: from the sender to the first bottleneck ---- */

int departure_create(const struct ccbench_link_header *header);
/* A packet leaves the sender. */
void departure_send(struct sk_buff *skb);

/* ---- delay.c: from the receiver to the sender ---- */

int delay_create(const struct ccbench_link_header *header, const u32 *extra_us);
/* A packet for the host of skb->dev. */
void delay_receive(struct sk_buff *skb);

/* ---- summary.c ---- */

int summary_create(const struct ccbench_link_header *header);
/* Something has happened to a packet; the first of it must be that it arrived. */
void summary_record(u8 bottleneck, struct sk_buff *skb, enum ccbench_event event);
/* The experiment is over. */
void summary_finish(void);

/* ---- main.c ---- */

extern struct ccbench_log *queue_log;	/* NULL: packet events are not recorded */
extern bool queue_summary;		/* they are counted */
extern struct ccbench_log *batch_log;	/* NULL: there is no Wi-Fi */

/* A packet comes to the first bottleneck of its flow. */
void path_enter(struct sk_buff *skb);
/* A packet has crossed the given bottleneck. */
void path_forward(struct sk_buff *skb, const struct bottleneck *from);
/* Streams of random numbers: of packets without a flow, then of each flow; NULL without memory. */
struct random_stream *path_draws(const struct ccbench_link_header *header,
				 enum random_purpose purpose, u32 bottleneck);
/* A packet with this mark has been dropped by a queue, or lost at random before it. */
void path_count_drop(u32 mark);
void path_count_loss(u32 mark);
/* Puts a packet into the stack of the host of skb->dev. */
void path_deliver(struct sk_buff *skb);
/* A device that carries bare IP packets, has no addresses and needs none. */
void path_setup_device(struct net_device *dev);

#endif /* _CCBENCH_LINK_H */
