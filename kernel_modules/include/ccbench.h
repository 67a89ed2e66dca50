/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Interfaces of the virtual kernel's modules: records for the host, descriptions from
 * the host, and functions.
 *
 * Host and guest are the same machine, so records are native-endian structs without
 * padding. The host reads the formats from this file (ccbench/emulate/kernel/boot/shared.py).
 */
#ifndef _CCBENCH_H
#define _CCBENCH_H

#include <linux/types.h>

#define CCBENCH_PROTOCOL	13
#define CCBENCH_MAX_BOTTLENECKS	16	/* of both directions */

/* ---- records, guest to host ------------------------------------------- */

enum ccbench_event {
	CCBENCH_ENQUEUE,
	CCBENCH_DEQUEUE,
	CCBENCH_DROP,
	CCBENCH_MARK,
	CCBENCH_LOSS,
	CCBENCH_EVENTS
};

/* Queue of a qdisc, if it has a classic and an L4S queue; 0 is the whole qdisc. */
enum ccbench_queue {
	CCBENCH_WHOLE,
	CCBENCH_CLASSIC,
	CCBENCH_L4S,
	CCBENCH_QUEUES
};

/* Event of a packet at a bottleneck (queue.bin). */
struct ccbench_queue_record {
	__u64 time_ns;
	__u32 flow;
	__u16 bytes;		/* of the packet, including the IP header */
	__u8 event : 4;
	__u8 queue : 4;
	__u8 bottleneck;
};

/* Time with a number of waiting packets at a bottleneck (queue_occupancy.bin). */
struct ccbench_occupancy_record {
	__u64 time_ns;
	__u64 arrivals;		/* arrivals at this number of waiting packets */
	__u32 packets;
	__u16 bottleneck;
	__u16 queue;
};

/* Number of packets by waiting time until departure (queue_waits.bin). */
struct ccbench_wait_record {
	__u64 from_ns;
	__u64 to_ns;		/* exclusive */
	__u64 packets;
	__u32 bottleneck;
	__u32 queue;
};

/* Number of events of a flow's packets (queue_counts.bin). */
struct ccbench_count_record {
	__u64 packets;
	__u64 bytes;
	__u64 waited_ns;	/* sum of the packets' waiting times until the event */
	__u32 flow;
	__u16 event;
	__u8 bottleneck;
	__u8 queue;
};

/* Backlog at a time (queue_samples.bin). */
struct ccbench_backlog_record {
	__u64 time_ns;
	__u32 backlog_packets;
	__u32 backlog_bytes;
	__u32 bottleneck;
	__u32 queue;
};

/*
 * What has left a queue, and what its link has carried, until the end (links.bin), in the order
 * of the bottlenecks.
 */
struct ccbench_link_record {
	__u64 carried_packets;	/* whose transmission has ended */
	__u64 carried_bytes;	/* of IP */
	struct {
		__u64 packets;		/* that have left it for the link */
		__u64 waited_ns;	/* sum of their waiting times */
	} left[CCBENCH_QUEUES];
};

/* Statistics of a qdisc at a sampling time (qdiscs.bin). */
#define CCBENCH_STATISTICS_MAX	60

struct ccbench_qdisc_record {
	__u64 time_ns;
	__u32 bottleneck;
	__u8 statistics[CCBENCH_STATISTICS_MAX];	/* the qdisc's own structure, then zeroes */
};

/* State of a flow at a sampling time (samples.bin). */
struct ccbench_flow_record {
	__u64 time_ns;
	__u64 delivered_bytes;	/* payload delivered to the application */
	__u64 throughput_bytes;	/* IP bytes that left the last bottleneck of the data */
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
	/* State of the congestion control from get_info. */
	__u32 cca_attribute;	/* type of the attribute; 0: none */
	__u32 cca_info[5];	/* the attribute */
};

/* Result of a flow (completions.bin), in the order of the flows. */
struct ccbench_completion_record {
	__s64 start_ns;
	__s64 end_ns;		/* -1: incomplete */
	__u64 delivered_bytes;
	__u64 sent_bytes;
	__u32 retransmits;
	__s32 error;		/* negative errno of a failed flow, or 0 */
};

/* ECN that an end of a connection has negotiated. */
enum ccbench_ecn_mode {
	CCBENCH_ECN_NONE,	/* no connection */
	CCBENCH_ECN_OFF,
	CCBENCH_ECN_RFC3168,
	CCBENCH_ECN_ACCECN,
};

#define CCBENCH_ECN_CODEPOINTS	3	/* ECT(1), ECT(0), CE */

/* ECN of a flow (ecn.bin), in the order of the flows. */
struct ccbench_ecn_record {
	__u64 delivered_bytes[CCBENCH_ECN_CODEPOINTS];	/* payload, as reported to the sender */
	__u64 received_bytes[CCBENCH_ECN_CODEPOINTS];	/* payload, by the receiver */
	__u32 delivered_ce;		/* packets, as reported to the sender */
	__u32 received_ce;		/* packets, by the receiver */
	__u16 sender_mode;		/* enum ccbench_ecn_mode */
	__u16 receiver_mode;
	__u16 sender_failures;		/* bits of Linux's TCP_ACCECN_*_FAIL_* */
	__u16 receiver_failures;
};

/* Complete message (messages.bin). */
struct ccbench_message_record {
	__u64 end_ns;
	__u32 flow;
	__u32 message;		/* index within the flow */
};

/* Segment of a video that has arrived (segments.bin). */
struct ccbench_segment_record {
	__u64 start_ns;		/* request */
	__u64 end_ns;
	__u64 bytes;
	__u64 flow;
};

/* Occurrence of a change that has a trigger (changes.bin). */
/* Draws of random numbers by one function of the kernel. */
struct ccbench_draws_record {
	char function[64];	/* NUL-terminated, with its module in brackets */
	__u64 draws;
};

struct ccbench_change_record {
	__u64 time_ns;
	__u64 change;		/* index */
};

/* Payload that a connection of several subflows has delivered (connections.bin). */
struct ccbench_connection_record {
	__u64 time_ns;
	__u64 delivered_bytes;
	__u32 flow;		/* its first subflow */
	__u32 subflows;
};

/* Batch of frames on a Wi-Fi link (batches.bin). */
struct ccbench_batch_record {
	__u64 start_ns;
	__u64 acked_ns;		/* time of the block ACK */
	__u64 bitrate_bps;	/* of the frames */
	__u64 estimate_bps;	/* estimate of the capacity */
	__u32 bytes;
	__u16 frames;
	__u8 station;
	__u8 bottleneck;
};

/*
 * Captured packet (capture.bin): an Enhanced Packet Block of a pcapng file, which ends with its
 * length again after the headers, padded to 4 bytes.
 */
#define CCBENCH_CAPTURE_BLOCK	6
#define CCBENCH_CAPTURE_MAX	128	/* bytes of each packet */

struct ccbench_capture_block {
	__u32 type;
	__u32 block_bytes;
	__u32 point;		/* 0: sender, 1: receiver, 2 and 3: before and after bottleneck 0, ... */
	__u32 time_high;
	__u32 time_low;
	__u32 captured_bytes;
	__u32 packet_bytes;
	__u8 headers[];
};

/* First captured packet of a flow at a point (capture_firsts.bin). */
struct ccbench_first_record {
	__u64 position;		/* of its block in capture.bin, in bytes */
	__u64 flow;
};

/* ---- descriptions, host to guest -------------------------------------- */

enum ccbench_queue_log {
	CCBENCH_QUEUE_NOTHING,
	CCBENCH_QUEUE_EVENTS,	/* every event of every packet */
	CCBENCH_QUEUE_SUMMARY,
};

/*
 * link.bin: header, bottlenecks, the lists of each (its trace, its lost packets, its losses over
 * time and its jitter), the flows' extra delays in us, the indices of the first and last bottleneck of each flow's data, which are of
 * one direction, points of the RTT's trace, changes, and the qdisc options of each change.
 */
struct ccbench_link_header {
	__u32 protocol;
	__u32 bottlenecks;	/* to the receiver, then to the sender */
	__u32 reverse_bottlenecks;	/* those to the sender */
	__u32 flows;
	__u32 queue_log;	/* enum ccbench_queue_log */
	__u32 changes;
	__u64 rtt_points;	/* 0: constant */
	__u64 rtt_ns;
	__u64 forward_delay_ns;	/* the part to the receiver; both parts are after the bottlenecks */
	__u64 forward_jitter_ns;	/* to the receiver, before the bottlenecks */
	__u64 reverse_jitter_ns;	/* to the sender, before the bottlenecks */
	__u64 sender_jitter_ns;	/* at the sender, independent for each flow */
	__u64 wifi_jitter_ns;	/* target of the Wi-Fi model, after the bottlenecks; 0: none */
	__u64 ack_batch_ns;	/* ACKs leave at multiples of this; 0: immediately */
	__u64 seed;
	__u64 duration_ns;
	__u64 sample_interval_ns;	/* of the summary of queues */
	__u64 mtu_bytes;	/* of all devices */
};

struct ccbench_bottleneck {
	__u64 rate_bps;		/* 0: trace or Wi-Fi */
	__u64 background_bps;	/* rate of background traffic */
	__u32 trace_length;	/* number of delivery opportunities in ms that follow */
	__u32 loss;		/* probability in units of 2^-32 */
	/* Wi-Fi: followed by bitrates in kbit/s, one per time step. */
	__u32 wifi_frames;	/* maximum per batch; 0: not Wi-Fi */
	__u32 wifi_stations;
	__u64 wifi_step_ns;
	__u64 wifi_overhead_ns[2];	/* minimum and maximum per batch */
	__u64 loss_every_packets;	/* interval of periodic loss; 0: none */
	__u32 l4s_mask;		/* bits of the ECN field of packets for an L4S queue; 0: none */
	__u32 statistics;	/* whether statistics of the qdisc are sampled */
	__u32 lost_packets;	/* number of lost packets that follow the trace, ascending */
	__u32 duplicates;	/* probability in units of 2^-32 */
	/*
	 * Losses in bursts, in the good and in the bad state: probabilities in units of 2^-32 of a
	 * change at each packet, or mean times until a change, and probabilities of losses.
	 */
	__u64 burst_change[2];
	__u64 burst_mean_ns[2];
	__u64 burst_loss[2];
	__u64 policer_bps;	/* 0: none */
	__u64 policer_bytes;
	__u32 overhead_bytes;	/* of the link layer, per packet */
	__u32 cells;		/* packets are sent in ATM cells */
	/* Packets that arrive late: probability in units of 2^-32, and delay or later packets. */
	__u32 reordered;
	__u32 reordered_packets;
	__u64 reordered_ns;
	__u32 loss_points;	/* number of points of losses over time that follow the lost packets */
	/*
	 * Jitter after the link: number of equally probable delays in ns that follow, ascending, or
	 * 0. With a memory, as many quantiles of the normal distribution follow, in units of 2^-24.
	 */
	__u32 jitter_delays;
	/* Weights of the last and of a new normal value, in units of 2^-32. */
	__u64 jitter_memory;
	__u64 jitter_innovation;
};

/* From a time on, a probability of losses in units of 2^-32; the last point is at the period. */
struct ccbench_loss_point {
	__u64 time_ns;
	__u64 loss;
};

#define CCBENCH_UNCHANGED	(~0ULL)
#define CCBENCH_MAX_RATE_BPS	100000000000ULL

/* Round-trip time at a time of a trace, whose last point is at its period. */
struct ccbench_rtt_point {
	__u64 time_ns;
	__u64 rtt_ns;
};

enum ccbench_trigger_kind {
	CCBENCH_TRIGGER_NONE,
	CCBENCH_TRIGGER_PACKET,		/* the n-th packet of the flow leaves its host */
	CCBENCH_TRIGGER_CCA_INFO,	/* the n-th time that a value of get_info is within a range */
	CCBENCH_TRIGGER_TCP_STATE,	/* the same for enum tcp_ca_state */
};

struct ccbench_trigger {
	__s64 low;
	__s64 high;		/* inclusive */
	__u64 count;		/* n */
	__u32 flow;
	__u8 kind;		/* enum ccbench_trigger_kind */
	__u8 offset;		/* of the value, in bytes */
	__u8 bytes;
	__u8 is_signed;
};

/*
 * Change of the path, or of an end of a flow; loss, delays, jitter, the application's rate and
 * the window may be CCBENCH_UNCHANGED.
 */
struct ccbench_change {
	struct ccbench_trigger trigger;
	__u64 time_ns;		/* of the experiment, or since the trigger */
	__u64 every_ns;		/* 0: once */
	__u64 rate_bps;		/* 0: unchanged */
	__u64 outage_ns;
	__u64 loss;		/* probability in units of 2^-32 */
	__u64 rtt_ns;
	__u64 forward_delay_ns;
	__u64 wifi_jitter_ns;
	__u32 bottleneck;
	__u16 overtakes;	/* packets may overtake those with the delay before */
	__u16 options_bytes;	/* netlink attribute with the options of the qdisc; 0: none */
	__u64 end_flow;		/* flow whose ends change */
	__u64 app_rate_bps;	/* 0: it pauses; TCP: CCBENCH_MAX_RATE_BPS is unlimited */
	__u64 window_bytes;	/* maximum receive window */
};

enum ccbench_flow_kind {
	CCBENCH_BULK,
	CCBENCH_BYTES,
	CCBENCH_RATE,
	CCBENCH_ONOFF,
	CCBENCH_CBR,
	CCBENCH_POISSON,
	CCBENCH_PROGRAM,	/* between programs of the host */
	CCBENCH_VIDEO,
	CCBENCH_MESSAGES,	/* several short flows over one connection */
	CCBENCH_SUBFLOW,	/* another subflow of the connection of the flow before */
	CCBENCH_FRAMES,		/* UDP packets of a frame at once */
};

/* Acknowledgements of the receiver of a TCP flow. */
enum ccbench_acks {
	CCBENCH_ACKS_DEFAULT,
	CCBENCH_ACKS_DELAYED,	/* delayed ACKs, as in interactive sessions */
	CCBENCH_ACKS_EVERY,	/* one per packet */
};

/* Time from the read that starts the experiment to its time 0. */
#define CCBENCH_LEAD_NS	1000000

/* CCBENCH_PROGRAM: port of the server and group of the programs of flow 0; the others follow. */
#define CCBENCH_FIRST_PORT	8000
#define CCBENCH_FIRST_GROUP	30000

#define CCBENCH_CCA_MAX	16
#define CCBENCH_LADDER_MAX	16

/*
 * flows.bin: header, one specification per flow, messages of each flow, sizes in bytes of the
 * frames of each flow (u64), receivers.
 */
struct ccbench_flows_header {
	__u32 protocol;
	__u32 flows;
	__u64 duration_ns;
	__u64 sample_interval_ns;
	__u64 seed;
	__u64 receivers;
	__u64 mtu_bytes;
};

struct ccbench_flow_spec {
	__u64 start_ns;
	__u64 stop_ns;		/* not stopped if at or after the duration */
	__u64 size_bytes;	/* CCBENCH_BYTES */
	__u64 rate_bps;		/* CCBENCH_RATE: payload; UDP: IP bytes */
	__u64 on_ns;		/* CCBENCH_ONOFF */
	__u64 off_ns;
	__u8 kind;
	__u8 ecn;		/* UDP: ECN field of the packets */
	__u8 acks;		/* TCP: enum ccbench_acks */
	__u8 single_packets;	/* TCP: send without segmentation offload */
	__u16 packet_bytes;	/* UDP: size of the IP packet */
	__u8 reverse;		/* the receiving host sends */
	__u8 subflows;		/* of a connection of Multipath TCP; 0: none */
	char cca[CCBENCH_CCA_MAX];
	/* CCBENCH_VIDEO */
	__u64 segment_ns;
	__u64 buffer_ns;
	__u32 ladder_kbps[CCBENCH_LADDER_MAX];	/* ascending; 0: end */
	__u64 messages;		/* CCBENCH_MESSAGES: number of messages */
	/* CCBENCH_FRAMES */
	__u64 frame_uhz;	/* frames in 10^6 seconds */
	__u64 frames;		/* number of sizes of frames, which repeat */
	__u32 ip_version;	/* 4 or 6 */
	__u32 subnet;		/* of both hosts, if they have a memory; otherwise 0 */
};

struct ccbench_message {
	__u64 time_ns;		/* ascending */
	__u64 bytes;
};

#define CCBENCH_NO_SCALE	255	/* Linux chooses it */

/* Receivers of successive TCP flows, where they differ from Linux; 0: as Linux. */
struct ccbench_receiver {
	__u32 first_flow;
	__u32 flows;
	__u64 read_bps;		/* payload that the application reads */
	__u64 read_interval_ns;
	__u64 optimistic_bps;	/* IP bytes that are acknowledged before they arrive */
	__u32 window_bytes;	/* maximum receive window */
	__u32 window_scale;	/* of a window that is limited or changes, or CCBENCH_NO_SCALE */
	__u32 packets_per_ack;
	__u32 ack_delay_us;	/* maximum, with packets_per_ack */
	__u32 ack_parts;	/* ACKs into which each one is divided */
	__u32 duplicate_acks;	/* copies of each ACK */
	__u32 hides_ecn;
	__u32 reserved;
};

#ifdef __KERNEL__
#include <linux/ktime.h>
#include <linux/skbuff.h>
#include <net/net_namespace.h>

/*
 * skb->mark contains the flow number plus one; 0 means no flow. The highest bit marks a
 * packet that arrived at the queue with CE, the next one background traffic, which belongs
 * to no flow, and the third one a packet in an L4S queue.
 */
#define CCBENCH_MARK_CE		BIT(31)
#define CCBENCH_MARK_BACKGROUND	BIT(30)
#define CCBENCH_MARK_L4S	BIT(29)

static inline u32 ccbench_mark(u32 flow)
{
	return flow + 1;
}

static inline u32 ccbench_flow(u32 mark)
{
	return (mark & ~(CCBENCH_MARK_CE | CCBENCH_MARK_BACKGROUND | CCBENCH_MARK_L4S)) - 1;
}

/* Flow number of packets that belong to no flow. */
#define CCBENCH_NO_FLOW		U32_MAX

static inline bool ccbench_has_flow(u32 mark)
{
	return ccbench_flow(mark) != CCBENCH_NO_FLOW;
}

/* Counters of a flow's data on the path. */
struct ccbench_path_counters {
	u64 departed_bytes;	/* bytes that left the last bottleneck */
	u32 drops;		/* by the queues of all bottlenecks */
	u32 packets;		/* in queues or on links */
};

const struct ccbench_path_counters *ccbench_path_counters(u32 flow);
/* Lets receivers acknowledge as described, where data go to the sender with `reverse`. */
int ccbench_set_receivers(const struct ccbench_receiver *spec, bool reverse, u32 all_flows);
/* Has changes of applications done by a function, which returns false if a flow has none. */
void ccbench_set_applications(bool (*set_rate)(u32 flow, u64 rate_bps));
/* Shows packets to a module when they leave a host, which may set their mark, and reach one. */
struct ccbench_observer {
	void (*leaves)(struct sk_buff *skb, bool reverse);
	void (*arrives)(const struct sk_buff *skb, bool reverse);
};

void ccbench_observe(const struct ccbench_observer *observer);
struct net *ccbench_sender_net(void);
struct net *ccbench_receiver_net(void);

/* Clock of the experiment, which starts with the traffic. */
void ccbench_clock_start(ktime_t epoch);
u64 ccbench_now_ns(void);

/* Time at which the last timer that a user's modules have set ends, by ktime_get(). */
extern u64 ccbench_timers_end_ns;

/* A buffered file of records on the host. */
struct ccbench_log;

struct ccbench_log *ccbench_log_open(const char *name, size_t buffer_bytes);
void *ccbench_log_append(struct ccbench_log *log, size_t bytes);
void ccbench_log_flush(struct ccbench_log *log);
void ccbench_complete_logs(void);
/* Samples the statistics of the qdiscs. */
void ccbench_sample_qdiscs(u64 time_ns);
/* Ends the records at the end of the experiment. */
void ccbench_finish(void);
/* After that, ends the run if a qdisc has lost packets; sleeps. */
void ccbench_check_queues(void);
#endif /* __KERNEL__ */

#endif /* _CCBENCH_H */
