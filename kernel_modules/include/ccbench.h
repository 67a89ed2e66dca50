/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the virtual kernel's modules share: the records that they write for the
 * host, the descriptions that they read, and the calls between them.
 *
 * Host and guest are the same machine, so records are native-endian structs
 * without padding; ccbench/emulate/kernel/boot/protocol.py holds their twins.
 */
#ifndef _CCBENCH_H
#define _CCBENCH_H

#include <linux/types.h>

#define CCBENCH_PROTOCOL	4
#define CCBENCH_MAX_BOTTLENECKS	8

/* ---- records, guest to host ------------------------------------------- */

enum ccbench_event {
	CCBENCH_ENQUEUE,
	CCBENCH_DEQUEUE,
	CCBENCH_DROP,
	CCBENCH_MARK,
	CCBENCH_LOSS,
	CCBENCH_EVENTS
};

/* One thing that happened to one packet at one bottleneck (queue.bin). */
struct ccbench_queue_record {
	__u64 time_ns;
	__u32 flow;
	__u16 bytes;		/* of the packet, IP header included */
	__u8 event;
	__u8 bottleneck;
};

/* How long a number of packets waited at a bottleneck (queue_occupancy.bin). */
struct ccbench_occupancy_record {
	__u64 time_ns;
	__u64 arrivals;		/* that found so many waiting */
	__u32 packets;
	__u32 bottleneck;
};

/* How many packets waited so long before they left for the link (queue_waits.bin). */
struct ccbench_wait_record {
	__u64 from_ns;
	__u64 to_ns;		/* exclusive */
	__u64 packets;
	__u64 bottleneck;
};

/* How often something happened to a flow's packets (queue_counts.bin). */
struct ccbench_count_record {
	__u64 packets;
	__u64 bytes;
	__u32 flow;
	__u16 event;
	__u16 bottleneck;
};

/* What waited at some time (queue_samples.bin). */
struct ccbench_backlog_record {
	__u64 time_ns;
	__u32 packets;
	__u32 bytes;
	__u64 bottleneck;
};

/* The state of one flow at one sampling instant (samples.bin). */
struct ccbench_flow_record {
	__u64 time_ns;
	__u64 delivered_bytes;	/* payload that reached the application */
	__u64 throughput_bytes;	/* IP bytes that left the last bottleneck */
	__u64 pacing_rate_bps;	/* bits per second */
	__u32 flow;
	__u32 cwnd_packets;
	__u32 ssthresh_packets;
	__u32 inflight_packets;
	__u32 srtt_us;
	__u32 min_rtt_us;
	__u32 retransmits;
	__u32 lost;
	__u32 drops;
	__u32 state;		/* enum tcp_ca_state */
	/* What the congestion control tells inet_diag of itself. */
	__u32 cca_attribute;	/* the attribute's type; 0: nothing */
	__u32 cca_info[5];	/* the attribute */
};

/* What became of one flow (completions.bin), in the order of the flows. */
struct ccbench_completion_record {
	__s64 start_ns;
	__s64 end_ns;		/* -1: the receiver never had every byte */
	__u64 delivered_bytes;
	__u64 sent_bytes;
	__u32 retransmits;
	__s32 error;		/* negative errno that ended the flow, or 0 */
};

/* messages.bin: a message that has arrived as a whole. */
struct ccbench_message_record {
	__u64 end_ns;
	__u32 flow;
	__u32 message;		/* of that flow */
};

/* One batch of frames that a Wi-Fi link has sent (batches.bin). */
struct ccbench_batch_record {
	__u64 start_ns;
	__u64 acked_ns;		/* when its block ACK came */
	__u64 bitrate_bps;	/* of the frames */
	__u64 estimate_bps;	/* of what the link can carry */
	__u32 bytes;
	__u16 frames;
	__u8 station;
	__u8 bottleneck;
};

/* ---- descriptions, host to guest -------------------------------------- */

enum ccbench_queue_log {
	CCBENCH_QUEUE_NOTHING,
	CCBENCH_QUEUE_EVENTS,	/* every event of every packet */
	CCBENCH_QUEUE_SUMMARY,
};

/*
 * link.bin: header, bottlenecks, their traces, the flows' extra delays in us,
 * and the indices of the bottlenecks at which the flows join the path.
 */
struct ccbench_link_header {
	__u32 protocol;
	__u32 bottlenecks;
	__u32 flows;
	__u32 queue_log;	/* enum ccbench_queue_log */
	__u64 rtt_ns;
	__u64 forward_jitter_ns;	/* of packets to the receiver, before the bottlenecks */
	__u64 reverse_jitter_ns;	/* of packets to the sender */
	__u64 sender_jitter_ns;	/* of packets that leave the sender, each flow by itself */
	__u64 ack_batch_ns;	/* answers leave at multiples of this; 0: at once */
	__u64 seed;
	/* For the summary of queues: */
	__u64 duration_ns;
	__u64 sample_interval_ns;
	__u64 occupancy_rows;	/* the last one: so many packets or more */
};

struct ccbench_bottleneck {
	__u64 rate_bps;		/* 0: driven by a trace, or Wi-Fi */
	__u64 background_bps;	/* of the path's own traffic here */
	__u32 trace_length;	/* delivery opportunities, in ms, follow */
	__u32 loss;		/* probability in units of 2^-32 */
	/* Wi-Fi: what follows are bitrates in kbit/s, one for each step of time. */
	__u32 wifi_frames;	/* the most in a batch; 0: not Wi-Fi */
	__u32 wifi_stations;
	__u64 wifi_step_ns;
	__u64 wifi_overhead_ns[2];	/* of a batch: at least, at most */
	__u64 loss_every_packets;	/* one of so many is lost; 0: none */
};

enum ccbench_flow_kind {
	CCBENCH_BULK,
	CCBENCH_BYTES,
	CCBENCH_RATE,
	CCBENCH_ONOFF,
	CCBENCH_CBR,
	CCBENCH_POISSON,
	CCBENCH_SERVED,		/* what a program sends to another */
	CCBENCH_VIDEO,
	CCBENCH_MESSAGES,	/* one short flow after another over a connection */
};

/* How the receiver of a TCP flow acknowledges. */
enum ccbench_acks {
	CCBENCH_ACKS_DEFAULT,
	CCBENCH_ACKS_DELAYED,	/* it keeps asking, as in a dialogue */
	CCBENCH_ACKS_EVERY,	/* each packet at once */
};

#define CCBENCH_CCA_MAX	16
#define CCBENCH_LADDER_MAX	16

/* flows.bin: header, then one specification per flow, then the messages of each flow. */
struct ccbench_flows_header {
	__u32 protocol;
	__u32 flows;
	__u64 duration_ns;
	__u64 sample_interval_ns;
	__u64 seed;
};

struct ccbench_flow_spec {
	__u64 start_ns;
	__u64 stop_ns;		/* at or after the duration: never stopped */
	__u64 size_bytes;	/* CCBENCH_BYTES */
	__u64 rate_bps;		/* CCBENCH_RATE: payload; UDP: IP bytes */
	__u64 on_ns;		/* CCBENCH_ONOFF */
	__u64 off_ns;
	__u16 kind;
	__u16 acks;		/* TCP: enum ccbench_acks */
	__u32 packet_bytes;	/* UDP: size of the IP packet */
	char cca[CCBENCH_CCA_MAX];
	/* CCBENCH_VIDEO */
	__u64 segment_ns;
	__u64 buffer_ns;
	__u32 ladder_kbps[CCBENCH_LADDER_MAX];	/* ascending; 0: no more */
	__u64 messages;		/* CCBENCH_MESSAGES: their number */
};

struct ccbench_message {
	__u64 time_ns;		/* ascending */
	__u64 bytes;
};

#ifdef __KERNEL__
#include <linux/ktime.h>
#include <net/net_namespace.h>

/*
 * Packets carry the number of their flow, plus one, in skb->mark: 0 means none.
 * The highest bit says that the packet arrived at the queue with CE set, the
 * next that it is background traffic, which belongs to no flow.
 */
#define CCBENCH_MARK_CE		BIT(31)
#define CCBENCH_MARK_BACKGROUND	BIT(30)

static inline u32 ccbench_mark(u32 flow)
{
	return flow + 1;
}

static inline u32 ccbench_flow(u32 mark)
{
	return (mark & ~(CCBENCH_MARK_CE | CCBENCH_MARK_BACKGROUND)) - 1;
}

/* Flow number of packets that belong to no flow. */
#define CCBENCH_NO_FLOW		U32_MAX

static inline bool ccbench_has_flow(u32 mark)
{
	return ccbench_flow(mark) != CCBENCH_NO_FLOW;
}

/* What the path has counted for one flow. */
struct ccbench_path_counters {
	u64 departed_bytes;	/* left the last bottleneck */
	u32 drops;		/* by any bottleneck's queue */
	u32 packets;		/* now waiting or on a link */
};

const struct ccbench_path_counters *ccbench_path_counters(u32 flow);
struct net *ccbench_sender_net(void);
struct net *ccbench_receiver_net(void);

/* The clock of the experiment: it starts when the traffic does. */
void ccbench_clock_start(ktime_t epoch);
u64 ccbench_now_ns(void);

/* A file of records on the host, written in large pieces. */
struct ccbench_log;

struct ccbench_log *ccbench_log_open(const char *name, size_t buffer_bytes);
void *ccbench_log_append(struct ccbench_log *log, size_t bytes);
void ccbench_log_flush(struct ccbench_log *log);
void ccbench_flush_all_logs(void);
/* The experiment is over: nothing is recorded any more. */
void ccbench_finish(void);
#endif /* __KERNEL__ */

#endif /* _CCBENCH_H */
