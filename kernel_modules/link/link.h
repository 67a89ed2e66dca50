/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The emulated path.
 *
 *   sender --> bottleneck 0 --> ... --> bottleneck n-1 --> delay --> receiver
 *      ^                                                               |
 *      +--- delay <-- bottleneck n+m-1 <-- ... <-- bottleneck n <------+
 *
 * A congestion control or a queue only observes the total propagation delay of the
 * loop, so by default all of it is on the reverse path. This saves a timer per data packet:
 * packets that leave bottleneck n-1 arrive immediately. By default m is 0.
 *
 * These are the parts. They are independent of main.c, which creates and connects them.
 */
#ifndef _CCBENCH_LINK_H
#define _CCBENCH_LINK_H

#include <net/sch_generic.h>

#include "path.h"

/* ---- wifi.c ---- */

struct bottleneck;

/* Wi-Fi properties of a link. */
struct wifi;

extern struct ccbench_log *batch_log;	/* NULL: no Wi-Fi */

struct wifi *wifi_create(const struct ccbench_bottleneck *spec, const u32 *bitrates_kbps,
			 struct random_stream random);
/* Stores a packet that has left the queue. */
void wifi_hold(struct wifi *wifi, struct sk_buff *skb);
/* Sends the next batch; returns false without packets. */
bool wifi_start(struct bottleneck *link);
/* Handles the block ACK of the batch and returns its packets. */
void wifi_finish(struct bottleneck *link, struct sk_buff_head *packets);
/* Estimated capacity of the link from its last batches; 0 before the first. */
u64 wifi_estimate_bps(const struct wifi *wifi);

/* ---- loss.c ---- */

/* Losses before a queue. */
struct losses;

/* Returns NULL without losses. */
struct losses *loss_create(const struct ccbench_link_header *header, u32 index,
			   const struct ccbench_bottleneck *spec, const u32 *numbers,
			   const struct ccbench_loss_point *points);
/* Whether a packet that arrives is lost. */
bool loss_takes(struct losses *losses, const struct sk_buff *skb);
/* Prepares a bottleneck for loss_set(). */
int loss_enable(struct bottleneck *link, const struct ccbench_link_header *header);
/* Sets the probability of independent losses in units of 2^-32. */
void loss_set(struct losses *losses, u64 probability);

/* ---- reorder.c ---- */

/* Packets that arrive late after a link. */
struct reordering;

/* Lists of a bottleneck with jitter. */
struct jitter_tables {
	const u64 *delays_ns;
	const s64 *normal;	/* with a memory */
};

/* Returns NULL without late packets. */
struct reordering *reorder_create(const struct ccbench_link_header *header, u32 index,
				  const struct ccbench_bottleneck *spec,
				  const struct jitter_tables *tables);
/* Hands on a packet that has crossed a link with late packets, now or later. */
void reorder_forward(struct sk_buff *skb, const struct bottleneck *link);

/* ---- bottleneck.c ---- */

extern struct ccbench_log *queue_log;	/* NULL: events are not recorded */
extern bool queue_summary;		/* events are summarised */
extern struct ccbench_log *qdisc_log;	/* NULL: no statistics of qdiscs */

/*
 * A link with a queue. The queue is the root qdisc of a network device, so any qdisc can be
 * attached to it. The link takes one packet at a time from it.
 */
struct bottleneck {
	struct net_device *dev;
	u8 index;
	bool reverse;		/* to the sender */
	bool last;		/* of its direction */
	bool captures;		/* packets before and after it */
	bool clears_ecn;	/* of arriving packets */
	/* Hands on a packet that has crossed the link. */
	void (*forward)(struct sk_buff *skb, const struct bottleneck *from);

	/* The link: a constant rate, a trace, or Wi-Fi. */
	u64 rate_bps;
	u32 overhead_bytes;	/* of the link layer, per packet */
	bool cells;		/* packets are sent in ATM cells */
	const u32 *trace_ms;
	u32 trace_length;
	u32 trace_next;		/* index of the next opportunity */
	u64 trace_base_ms;	/* start of the current cycle of the trace */

	struct wifi *wifi;

	struct path_event sent;	/* end of transmission of a packet, a part of it, or a batch */
	struct sk_buff *in_service;	/* Wi-Fi: first packet of the batch */
	u64 free_ns;		/* end of the current transmission */
	u64 free_rest;		/* fraction of free_ns in 1/rate_bps ns */
	u32 credit_bytes;	/* left in the current opportunity */
	u32 sent_bytes;		/* of the packet in service */
	bool spending;		/* an opportunity is in use */
	u64 end_ns;		/* of the experiment */
	struct ccbench_link_record totals;	/* until then */

	/* The queue. */
	u32 flows;		/* of the experiment */
	u32 arrivals;		/* packets that have entered it */
	u32 waiting;		/* packets in it */
	u32 waiting_bytes;
	u32 longest_bytes;	/* of packets in it, with an arriving one */
	u32 overdue;		/* number of a packet that waits for too long, from 1; 0: none */
	unsigned long *present;	/* bits of the packets in it, by their numbers */
	u64 pause_ns;		/* since then the link is idle, while packets wait; 0: it is not */
	u32 woken_by_arrival;	/* pauses that ended with the arrival of another packet */
	u32 woken_by_timer;	/* other pauses */
	bool unarmed;		/* in this pause, no timer of a user's modules is set */
	bool others_wake;	/* pauses without such a timer have ended by another one */
	bool arrives;		/* a packet has just entered it */
	bool compares_packets;	/* of packets before and after it */
	bool changing;		/* the qdisc has dropped packets that are not freed yet */
	u32 emptied_at;		/* arrivals before it was emptied at the end */
	const struct sk_buff *arriving;	/* packet that is being enqueued */
	bool orphaned;		/* the qdisc has removed its destructor */
	u8 l4s_mask;		/* bits of the ECN field of packets for its L4S queue; 0: none */
	bool statistics;	/* sampled */

	struct losses *losses;	/* NULL: none */
	struct reordering *reordering;	/* NULL: none */
	u32 duplicates;		/* probability in units of 2^-32 */
	struct random_stream *duplicate_draws;	/* for packets without a flow, then for each flow */
};

/* The lists of a bottleneck, in their order. */
struct bottleneck_lists {
	const u32 *trace_ms;	/* or bitrates; NULL: neither */
	const u32 *lost_packets;
	const struct ccbench_loss_point *loss_points;
	struct jitter_tables jitter;
};

/* Sets up a bottleneck whose place on the path is set. */
int bottleneck_create(struct bottleneck *link, const struct ccbench_link_header *header,
		      const struct ccbench_bottleneck *spec,
		      const struct bottleneck_lists *lists);
void bottleneck_receive(struct bottleneck *link, struct sk_buff *skb);
/* Returns the next packet of the qdisc, or NULL. */
struct sk_buff *bottleneck_dequeue(struct bottleneck *link);
/* Takes the next packet from the queue for the link; returns NULL without packets. */
struct sk_buff *bottleneck_take(struct bottleneck *link);
/* Sets the rate of a link for the packets after the one in transmission. */
void bottleneck_set_rate(struct bottleneck *link, u64 rate_bps);
/* Lets a link send nothing for a time, after the packet in transmission. */
void bottleneck_stop(struct bottleneck *link, u64 duration_ns);
/* Records the statistics of the qdisc. */
void bottleneck_sample(const struct bottleneck *link, u64 time_ns);

/*
 * Arrival of a packet in a queue. It is at the end of the control buffer, after the area of
 * qdiscs.
 */
struct arrival {
	u16 bytes;		/* of the packet, and a digest of the rest, which remain: */
	u16 digest;		/* Linux 7.3 writes the reason of a drop over both */
	u32 number;		/* of the packet, from 0 */
	u64 time_ns;
};

static inline struct arrival *arrival_of(const struct sk_buff *skb)
{
	const size_t offset = sizeof(skb->cb) - sizeof(struct arrival);

	BUILD_BUG_ON(sizeof(struct qdisc_skb_cb) > offset);
	return (struct arrival *)(skb->cb + offset);
}

/* ---- conservation.c ---- */

int conservation_create(struct bottleneck *link, u32 flows);
/* A packet enters the queue, and leaves it for the link or by a drop. */
void conservation_enters(struct bottleneck *link, struct sk_buff *skb, u64 now);
void conservation_leaves(struct bottleneck *link, const struct sk_buff *skb, u64 now);
/* Checks that a packet that leaves for the link is as it entered. */
void conservation_sent(const struct bottleneck *link, const struct sk_buff *skb);
/* Handles a qdisc whose own length seems to differ from that of its queue. */
void conservation_differs(const struct bottleneck *link, struct Qdisc *q,
			  const struct sk_buff *taken);

/* Compares the length of a queue with that of its qdisc, which has just returned a packet, or NULL. */
static inline void conservation_length(const struct bottleneck *link, struct Qdisc *q,
				       const struct sk_buff *taken)
{
	const u32 bytes = taken ? taken->len : 0;

	if (unlikely(q->q.qlen != link->waiting - !!taken ||
		     q->qstats.backlog != link->waiting_bytes - bytes))
		conservation_differs(link, q, taken);
}
/* Ends the run, as a qdisc has done something with a packet. */
void conservation_fail(const struct bottleneck *link, const struct sk_buff *skb,
		       const char *problem);
/* The link is idle while packets wait, and becomes so, or stays so after an arrival. */
void conservation_pauses(struct bottleneck *link);
/* The packet ends this pause, after the arrival of another one. */
void conservation_wakes(struct bottleneck *link, const struct sk_buff *skb);
/* Empties all queues after the experiment, and ends the run if packets are lost. */
void conservation_check(struct bottleneck *links, u32 count);

/* ---- background.c ---- */

int background_create(const struct ccbench_link_header *header,
		      const struct ccbench_bottleneck *specs, struct bottleneck *links);
/* Starts at a time of the monotonic clock. */
void background_start(u64 epoch_ns);

/* ---- departure.c: from a host to its first bottleneck ---- */

/* Packets leave to their first bottleneck on the way to the receiver, or to the sender. */
int departure_create(const struct ccbench_link_header *header,
		     void (*to_receiver)(struct sk_buff *skb),
		     void (*to_sender)(struct sk_buff *skb));
/* Handles a packet of a host in a direction; and captures it there. */
void departure(struct sk_buff *skb, bool reverse);
void departure_observed(struct sk_buff *skb, bool reverse);

/* ---- capture.c ---- */

extern struct ccbench_log *capture_log;	/* NULL: packets are not captured */

/* Points of the path where packets are captured. */
#define CAPTURE_SENDER		0
#define CAPTURE_RECEIVER	1
#define CAPTURE_BEFORE(index)	(2 + 2 * (index))
#define CAPTURE_AFTER(index)	(3 + 2 * (index))

int capture_create(const struct ccbench_link_header *header);
void capture_packet(u32 point, const struct sk_buff *skb);

/* Captures a packet at a point, if packets are captured. */
static inline void capture_at(u32 point, const struct sk_buff *skb)
{
	if (unlikely(capture_log))
		capture_packet(point, skb);
}

/* ---- receiver.c: ACKs of receivers that differ from Linux ---- */

struct receiver;

/* By flow; NULL if all receivers are ordinary. */
extern struct receiver **receivers;

/* Sets the largest receive window of a flow; returns false if it has none that can change. */
bool receiver_set_window(u32 flow, u32 window_bytes);
/* Handles a packet that leaves a host in a direction. */
void receiver_departure(struct sk_buff *skb, bool reverse);
/* Handles a packet that reaches a host; returns false if the host must not see it. */
bool receiver_arrival(struct sk_buff *skb, bool reverse);

/* ---- optimist.c: receivers that acknowledge data before they arrive ---- */

struct optimist;

/* Returns NULL without memory; data go to the sender with `reverse`. */
struct optimist *optimist_create(u64 rate_bps, bool reverse);
/* Handles a packet of the sender that leaves it, or reaches the receiver; as above. */
void optimist_departure(struct optimist *optimist, const struct sk_buff *skb);
bool optimist_arrival(struct optimist *optimist, struct sk_buff *skb);
/* Handles a packet that leaves the receiver. */
void optimist_acknowledge(struct optimist *optimist, struct sk_buff *skb);

/* ---- delay.c: from the last bottleneck to a host ---- */

/* Packets arrive at the receiver, or at the sender. */
int delay_create(const struct ccbench_link_header *header, const u32 *extra_us,
		 const struct ccbench_rtt_point *points,
		 void (*reach_receiver)(struct sk_buff *skb),
		 void (*reach_sender)(struct sk_buff *skb));
/* Starts at a time of the monotonic clock. */
void delay_start(u64 epoch_ns);
/* Handles a packet for the receiver, at this time. */
void delay_to_receiver(struct sk_buff *skb);
/* Handles a packet for the sender, at a time of the monotonic clock. */
void delay_to_sender(struct sk_buff *skb, u64 time_ns);
/* Sets delays of packets from now on, which may overtake earlier ones. */
void delay_set(u64 rtt_ns, u64 forward_ns, bool overtakes);

/* ---- rtt_trace.c ---- */

int rtt_trace_create(const struct ccbench_rtt_point *points, u32 count);
/* Round-trip time at a time of the experiment. */
u64 rtt_trace_at(u64 time_ns);

/* ---- wifi_jitter.c ---- */

extern bool has_wifi_jitter;

/* Prepares wifi_jitter_set(). */
int wifi_jitter_enable(const struct ccbench_link_header *header);
/* Sets the target of the jitter; 0: none. */
void wifi_jitter_set(u64 target_ns);
/* Draws a delay. */
u64 wifi_jitter_draw_ns(u32 mark);

/* ---- change.c ---- */

int change_create(const struct ccbench_link_header *header, const struct ccbench_change *specs,
		  const void *options, const void *end, struct bottleneck *links);
/* Starts at a time of the monotonic clock. */
void change_start(u64 epoch_ns);

/* ---- trigger.c ---- */

/* Flows with triggers, by number; NULL without triggers. */
struct watched_flow;
extern struct watched_flow *watched_flows;

/* Calls a function with the number of a change when its trigger occurs. */
int trigger_add(const struct ccbench_link_header *header, const struct ccbench_trigger *spec,
		u32 change, void (*occurred)(u32 change));
/* A packet of a flow leaves the sender of its data, or has arrived there. */
void trigger_packet_leaves(const struct sk_buff *skb);
void trigger_packet_arrived(u32 flow);

/* ---- summary.c ---- */

int summary_create(const struct ccbench_link_header *header,
		   const struct ccbench_bottleneck *specs);
/* Records an event of a packet. */
void summary_record(u8 bottleneck, enum ccbench_queue queue, struct sk_buff *skb,
		    enum ccbench_event event);
/* Ends the summary at the end of the experiment. */
void summary_finish(void);

/* ---- draws.c ---- */

/* Records which functions drew random numbers. */
void draws_finish(void);

/* ---- host.c: the two ends of the path ---- */

/* Creates the device of a host in the current network namespace. */
int host_create(bool is_receiver);
/* Starts with the experiment. */
void host_start(void);
/* Deliver a packet to the stack of a host. */
void host_reach_receiver(struct sk_buff *skb);
void host_reach_sender(struct sk_buff *skb);

#endif /* _CCBENCH_LINK_H */
