/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Traffic that is generated and received in the kernel, without system calls: in a guest of
 * User-Mode Linux, these would cost a hundred times as much as the packet.
 *
 * Timers run in softirq context and must not use sockets, so all actions of a flow are done
 * by its work item, which inspects the flow.
 */
#ifndef _CCBENCH_FLOWS_H
#define _CCBENCH_FLOWS_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/net.h>
#include <linux/tcp.h>
#include <linux/workqueue.h>
#include <net/inet_connection_sock.h>

#include "ccbench.h"
#include "random_stream.h"

/* 10.0.0.1 and 10.0.0.2, and the prefix of fd00::; see also address.c */
#define SENDER_ADDRESS		0x0a000001
#define RECEIVER_ADDRESS	0x0a000002
#define IPV6_PREFIX		0xfd000000

#define UNLIMITED		U64_MAX

/*
 * Timers that only observe run in the interrupt itself. Each softirq of timers also runs
 * timers within their slack (compressed ACKs of TCP), so that sampling in softirq context
 * would change the behaviour of flows.
 */
#define OBSERVER_MODE		HRTIMER_MODE_ABS_HARD

struct flow;

/* Returned by a tick after which no other one follows by itself. */
#define NO_TICK			U64_MAX

/* A kind of flow. Functions that a kind does not need are NULL. */
struct flow_ops {
	bool is_udp;
	bool is_unlimited;	/* at first, the application has data for any rate */
	bool changes_rate;	/* changes may set the rate of the application */
	bool has_size;		/* the flow ends after size_bytes */
	bool joins;		/* it is a subflow of the connection of the flow before */

	/* Detects specifications that divide by zero, or never advance time. */
	bool (*is_impossible)(const struct ccbench_flow_spec *spec);
	/* Prepares what all flows of this kind share; may be called again. */
	int (*init)(void);
	/* Prepares the receiver of a flow, before the experiment. */
	int (*listen)(struct flow *flow);
	/* Work at the sender: opens, sends, closes. */
	void (*work)(struct flow *flow);
	/* Produces the first data of an open flow. */
	void (*produce)(struct flow *flow);
	/* Produces data when the timer expires; returns the time in ns until the next tick. */
	u64 (*tick)(struct flow *flow);
	/* UDP: sends what one tick has produced. */
	void (*send)(struct flow *flow);
	/* TCP: a connection was accepted; data have arrived at the sender; work at the receiver. */
	void (*accepted)(struct flow *flow);
	void (*asked)(struct sock *sk);
	void (*rx_work)(struct flow *flow);
	/* TCP: the receiver has read, with its socket locked. */
	void (*delivered)(struct flow *flow);
};

/* CCBENCH_VIDEO: state of the player, and of the request at the server. */
struct video {
	u64 segment_bytes;		/* of the requested segment */
	u64 asked_bytes;		/* of all requested segments */
	u64 asked_ns;
	u64 played_out_ns;		/* end of playback of the buffer */
	u64 rate_bps[3];		/* throughput of the last segments */
	u32 segments;			/* received */
	u32 request_bytes;
	bool is_due;
};

/* Application that reads at a rate; see reader.c. */
struct reader;

struct flow {
	const struct ccbench_flow_spec *spec;
	const struct flow_ops *ops;
	const struct ccbench_receiver *receiver;	/* NULL: as Linux */
	u32 id;
	int error;

	/* The sending application. */
	struct socket *tx;
	struct work_struct work;
	struct hrtimer timer;		/* produces data, or a packet */
	u64 rate_bps;			/* of the application; CCBENCH_BULK: UNLIMITED */
	u64 next_rate_bps;		/* from the next run of the work item on */
	bool rate_changed;		/* next_rate_bps is set */
	u64 produced;			/* unsent bytes (UDP: packets, or frames) */
	u64 timer_rest;			/* rounding error of the timer */
	struct random_stream gaps;	/* CCBENCH_POISSON */
	const struct ccbench_message *messages;
	const u64 *frames;		/* CCBENCH_FRAMES: their sizes */
	u64 next_frame;			/* index of its size */
	u32 due_messages;		/* number of due messages */
	bool on;			/* CCBENCH_ONOFF */
	bool stop;
	bool closed;			/* end of sending */

	/* The receiving application. */
	struct socket *rx;
	struct work_struct rx_work;
	struct reader *reader;		/* NULL: reads at once */
	u64 delivered_bytes;
	s64 end_ns;
	u32 done_messages;		/* number of complete messages */
	u64 done_bytes;			/* of complete messages */
	struct video video;

	struct multipath *multipath;	/* connection of several subflows, or NULL */
	bool is_open;			/* a subflow has sent its SYN */

	/* CCBENCH_PROGRAM: TCP sockets at both hosts, and payload of UDP. */
	struct list_head sockets;
	const struct sock *last_socket;	/* of the last packet */
	u64 udp_sent_bytes;
	u64 udp_arrived_bytes;

	/* Current TCP sockets of the sender and the receiver of programs and of subflows, or NULL. */
	struct sock *server;
	struct sock *client;

	/* Counters of the sender's socket, stored before it is closed. */
	u64 sent_bytes;
	u32 retransmits;
	struct ccbench_ecn_record ecn;

	struct list_head sampled;	/* entry in the list of sampled flows */
};

/* ---- main.c ---- */

extern struct flow *flows;
extern u32 flow_count;
extern struct workqueue_struct *flow_queue;
extern struct page *zeroes;
extern u32 mtu_bytes;

struct flow *flow_of_mark(u32 mark);
void flow_fail(struct flow *flow, int error);
/* Starts the timer of a flow for a time in ns since the start of the experiment. */
void flow_timer_start(struct flow *flow, u64 time_ns);
/* Lets the application offer data at the flow's rate from a time on, and nothing before. */
void flow_offer(struct flow *flow, u64 time_ns);
/* The same from the start of the flow on; and the first tick then. */
void flow_offer_at_start(struct flow *flow);
void flow_tick_at_start(struct flow *flow);
/* The rate of a flow's specification is missing. */
bool flow_has_no_rate(const struct ccbench_flow_spec *spec);

/* Network namespace of the host that sends data, or receives them. */
static inline struct net *flow_sender_net(const struct flow *flow)
{
	return flow->spec->reverse ? ccbench_receiver_net() : ccbench_sender_net();
}

static inline struct net *flow_receiver_net(const struct flow *flow)
{
	return flow->spec->reverse ? ccbench_sender_net() : ccbench_receiver_net();
}

/* Current TCP socket of the receiver, or NULL. */
static inline struct sock *flow_receiver(const struct flow *flow)
{
	return flow->rx ? flow->rx->sk : flow->client;
}

/* Current TCP socket of the sender, or NULL. */
static inline struct sock *flow_sender(const struct flow *flow)
{
	return flow->tx ? flow->tx->sk : flow->server;
}

/* ---- address.c ---- */

int flow_family(const struct flow *flow);
/* Binds a receiver's socket to a port of all addresses of its version of IP. */
int flow_bind(struct socket *sock, int port);
/* Connects a flow's socket to a port of the receiver. */
int flow_connect(const struct flow *flow, int port, int flags);

/* ---- tcp.c ---- */

int tcp_set_cca(struct socket *sock, const char *cca);
int tcp_listen_for(struct flow *flow);
int tcp_port_of(const struct flow *flow);
void tcp_pump(struct flow *flow, struct socket *sock);
void tcp_work(struct flow *flow);
void tcp_rx_work(struct work_struct *work);
/* Tick of an application with a rate. */
u64 tcp_rate_tick(struct flow *flow);
void tcp_collect(struct flow *flow);
/* Lets the application read up to `most_bytes` from a locked socket. */
void tcp_rx_read(struct sock *sk, size_t most_bytes);
/* Resets what is left of a connection at its receiver, and closes all listeners. */
void tcp_close_receiver(struct flow *flow);
void tcp_close_listeners(void);

/* ---- guard.c ---- */

/* Guards the user's congestion controls. */
int guard_create(void);

/* ---- sockets.c ---- */

/* What a congestion control writes to a socket. */
struct written {
	struct sock *sk;	/* NULL: none */
	u32 cwnd;
	u32 ssthresh;
	u32 srtt_us;
	u32 rto;
	unsigned long pacing_rate;
};

/* Number of other sockets that are compared at once. */
#define OTHERS	4

/* The socket of a sender is open, and will be closed. */
void sockets_add_sender(struct sock *sk);
void sockets_remove_sender(struct sock *sk);
/* Whether Linux can send with the window, ssthresh and pacing rate of a socket. */
bool sockets_is_possible(const struct sock *sk);
/* Returns the socket of a sender, each time another one, but never `sk`; or NULL. */
struct sock *sockets_next(const struct sock *sk);
/* Notes what is set in sockets of other flows; none, if they can change during a hook. */
void sockets_take_others(struct written others[OTHERS], const struct sock *sk);
bool sockets_are_unchanged(const struct written others[OTHERS]);
/* A socket with a user's congestion control begins or ends. */
void sockets_opened(struct sock *sk);
void sockets_released(struct sock *sk);
/* Checks and frees the sockets that have ended; returns whether all have. */
bool sockets_end(void);

/* ---- settings.c ---- */

/* Notes sysctls and devices of both hosts, and ends the run if a user's module has changed them. */
int settings_take(void);
void settings_check(bool has_own_modules);

/* ---- damage.c ---- */

/* Ends the run if a host has discarded packets as damaged, or a user's module has lost some. */
void damage_check(bool has_own_modules);

/* ---- context.c ---- */

/* Locks that a user's modules hold (include/own_calls.h). */
extern int ccbench_locks;

/* What a hook must leave as it was. */
struct context {
	int preempted;
	int locks;
	bool irqs_off;
};

void context_take(struct context *context);
/* Returns what differs now, or NULL. */
const char *context_difference(const struct context *context);
/* The same before and after the call of a hook. */
void context_enter(struct context *context);
const char *context_leave(const struct context *context);
extern u32 context_hooks;	/* that are being called */

static inline bool context_is_hook(void)
{
	return context_hooks;
}

/* ---- image.c ---- */

/* A socket as it was. */
struct image {
	const struct sock *sk;
	u64 interruptions;	/* by what may change it */
	struct tcp_sock copy;
};

/* What of a socket may change: nothing, the private area of its CCA, or what that controls. */
enum image_right {
	IMAGE_NOTHING,
	IMAGE_PRIVATE,
	IMAGE_CONTROL,
	IMAGE_RIGHTS,
};

void image_create(void);
/* Whether this call of a user's module is one of those that are compared. */
bool image_is_due(void);
void image_take(struct image *image, const struct sock *sk);
/* Whether others have run since then, who may have changed or freed the socket. */
bool image_is_void(const struct image *image);
/* Returns what has changed of a socket against a right; NULL: nothing, or the image is void. */
const char *image_difference(const struct image *image, enum image_right right);

/* ---- calls.c ---- */

/* Voids the image of the current call, as it calls TCP. */
void calls_end_image(void);
/* The current call sleeps until it is resumed. */
void calls_pause(void);
void calls_resume(void);

/* ---- memory.c ---- */

bool memory_is_filled(void);
/* Fills memory that a user's module has not set, or must not read, if it is to be filled. */
void memory_fill(void *area, size_t bytes);
/*
 * Ends the run if a user's module has written to memory that it had freed, which is then free for
 * Linux, or, after the end of all connections, if a timer is running that it has started for one.
 */
void memory_check(bool all_ended);
/* Handles the end of an area of a user's module; returns false if a timer in it is running. */
bool memory_ends(const void *area, size_t bytes);

/* ---- reader.c ---- */

int reader_create(struct flow *flow);
/* Starts reading from a new connection, whose socket is locked. */
void reader_start(struct flow *flow);
/* Reads what is due; returns false if data are left. */
bool reader_work(struct flow *flow);
void reader_stop(struct flow *flow);

/* ---- ecn.c ---- */

int ecn_init(void);
void ecn_collect(struct flow *flow);
void ecn_write(const struct flow *flow);

/* ---- one file per kind ---- */

/* The number of each kind in enum ccbench_flow_kind, and the name of its operations. */
#define FLOW_KINDS(kind)				\
	kind(CCBENCH_BULK, bulk_ops)			\
	kind(CCBENCH_BYTES, bytes_ops)			\
	kind(CCBENCH_RATE, rate_ops)			\
	kind(CCBENCH_ONOFF, onoff_ops)			\
	kind(CCBENCH_CBR, cbr_ops)			\
	kind(CCBENCH_POISSON, poisson_ops)		\
	kind(CCBENCH_PROGRAM, program_ops)		\
	kind(CCBENCH_VIDEO, video_ops)			\
	kind(CCBENCH_MESSAGES, messages_ops)		\
	kind(CCBENCH_SUBFLOW, subflow_ops)		\
	kind(CCBENCH_FRAMES, frames_ops)

#define DECLARE_KIND(number, ops) extern const struct flow_ops ops;
FLOW_KINDS(DECLARE_KIND)

/* ---- multipath.c ---- */

int multipath_create(struct flow *flow);
void multipath_accept(struct socket *sock);
void multipath_work(struct flow *flow);
void multipath_rx_work(struct flow *flow);
void multipath_collect(struct flow *flow);
void multipath_sample(const struct flow *flow, u64 time_ns);

/* ---- program.c ---- */

/* Updates the counters and the current sockets of a flow between programs. */
void program_collect(struct flow *flow);

/* ---- udp.c ---- */

int udp_listen(struct flow *flow);
void udp_work(struct flow *flow);
/* Time of a packet at the flow's rate, in ns. */
u64 udp_gap_ns(struct flow *flow);
/* Payload of a full packet. */
size_t udp_payload_bytes(const struct flow *flow);
void udp_send(struct flow *flow, size_t bytes);
void udp_send_full(struct flow *flow);

/* ---- sample.c ---- */

int sample_init(u64 interval_ns);
void sample_start(void);
void sample_add(struct flow *flow);
void sample_last(u64 duration_ns);

#endif /* _CCBENCH_FLOWS_H */
