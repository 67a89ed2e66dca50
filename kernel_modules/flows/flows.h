/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The traffic, made and drained in the kernel: no system call is made for it,
 * which in a guest of User-Mode Linux would cost a hundred times the packet.
 *
 * Timers run in softirq context and may not use sockets, so whatever happens
 * to a flow is done by its work item; it looks at the flow to see what is due.
 */
#ifndef _CCBENCH_FLOWS_H
#define _CCBENCH_FLOWS_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/net.h>
#include <linux/workqueue.h>

#include "ccbench.h"
#include "random_stream.h"

#define SENDER_ADDRESS		0x0a000001	/* 10.0.0.1 */
#define RECEIVER_ADDRESS	0x0a000002	/* 10.0.0.2 and, for more flows, those after it */

#define UNLIMITED		U64_MAX

/*
 * Timers that only observe do so in the interrupt itself. Each run of the softirq
 * of timers ends the wait of those that have slack (TCP's compressed ACKs), so
 * how often flows are sampled would change what they do.
 */
#define OBSERVER_MODE		HRTIMER_MODE_ABS_HARD

/* CCBENCH_VIDEO: what its player knows, and how much of a request its server has. */
struct video {
	u64 segment_bytes;		/* of the segment that it has asked for */
	u64 asked_bytes;		/* of all of them */
	u64 asked_ns;
	u64 played_out_ns;		/* when it has played all that it has */
	u64 rate_bps[3];		/* at which the last segments came */
	u32 segments;			/* that came */
	u32 request_bytes;
	bool is_due;
};

struct flow {
	const struct ccbench_flow_spec *spec;
	u32 id;
	int error;

	/* The sending application. */
	struct socket *tx;
	struct work_struct work;
	struct hrtimer timer;		/* produces data, or a packet */
	u64 produced;			/* bytes (UDP: packets) not yet sent */
	u64 timer_rest;			/* what the timer's rounding left over */
	struct random_stream gaps;	/* CCBENCH_POISSON */
	const struct ccbench_message *messages;
	u32 due_messages;		/* those whose time has come */
	bool on;			/* CCBENCH_ONOFF */
	bool stop;
	bool closed;			/* nothing more will be sent */

	/* The receiving application. */
	struct socket *rx;
	struct work_struct rx_work;
	u64 delivered_bytes;
	s64 end_ns;
	u32 done_messages;		/* those that have arrived */
	u64 done_bytes;			/* of them */
	struct video video;

	/* CCBENCH_SERVED: the sockets of the programs at both ends, once connected. */
	struct sock *server;
	struct sock *client;

	/* Of the sender's socket, kept when it goes. */
	u64 sent_bytes;
	u32 retransmits;

	struct list_head sampled;	/* while it is */
};

/* ---- main.c ---- */

extern struct flow *flows;
extern u32 flow_count;
extern struct workqueue_struct *flow_queue;
extern struct page *zeroes;

struct flow *flow_of_mark(u32 mark);
void flow_fail(struct flow *flow, int error);
/* Sets the flow's timer to the time in ns since the start of the experiment. */
void flow_timer_start(struct flow *flow, u64 time_ns);

static inline bool flow_is_udp(const struct flow *flow)
{
	return flow->spec->kind == CCBENCH_CBR || flow->spec->kind == CCBENCH_POISSON;
}

static inline bool flow_is_served(const struct flow *flow)
{
	return flow->spec->kind == CCBENCH_SERVED;
}

/* The TCP socket that sends, if there is one now. */
static inline struct sock *flow_sender(const struct flow *flow)
{
	return flow->tx ? flow->tx->sk : flow->server;
}

/* ---- tcp.c ---- */

int tcp_set_cca(struct socket *sock, const char *cca);
int tcp_listen_for(const char *cca);
void tcp_work(struct flow *flow);
void tcp_rx_work(struct work_struct *work);
enum hrtimer_restart tcp_timer(struct hrtimer *timer);
void tcp_collect(struct flow *flow);

/* ---- messages.c ---- */

int messages_init(void);
void messages_due(struct flow *flow);
void messages_delivered(struct flow *flow);

/* ---- video.c ---- */

void video_due(struct flow *flow);
void video_rx_work(struct flow *flow);
void video_delivered(struct flow *flow);
void video_asked(struct sock *sk);

/* ---- served.c ---- */

int served_listen(struct flow *flow);
void served_collect(struct flow *flow);

/* ---- udp.c ---- */

int udp_listen(void);
void udp_work(struct flow *flow);
enum hrtimer_restart udp_timer(struct hrtimer *timer);

/* ---- sample.c ---- */

int sample_init(u64 interval_ns);
void sample_start(void);
void sample_add(struct flow *flow);
void sample_last(u64 duration_ns);

#endif /* _CCBENCH_FLOWS_H */
