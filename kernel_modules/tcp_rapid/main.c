// SPDX-License-Identifier: GPL-2.0
/*
 * RAPID (Konda and Kaur, "Rethinking the Timescales at Which Congestion-control
 * Operates"): the available bandwidth within a few round trips.
 *
 * Packets leave in p-streams of N. Packet i of a stream is sent at the rate
 * r_(i-1) = m^(i-2) r_1, that is so long after the one before it; their mean is r_avg:
 *
 *	(N - 1) / r_avg = 1 / r_1 + ... + 1 / r_(N-1)
 *
 * and the gap between two streams is that of r_avg. From where on the delay grows
 * within a stream, its rates exceed the available bandwidth: that is the next r_avg.
 *
 *	slow start	m = 2, N = 4, 8, ... 64, one stream in a round trip, until the
 *			available bandwidth is among the rates of the stream
 *	then		m = 1.07, N = 22, without a pause; each stream whose ACKs have
 *			come in sets r_avg
 *
 * How each packet gets its own gap: TCP asks for min_tso_segs before it sends, with the
 * socket locked. That is where the time of the next packet is decided: if it has not
 * come, tcp_wstamp_ns is set to it, so that TCP's own pacing waits until then; if it has,
 * TCP's pacing timer is set for the packet after this one. Segments are of one packet.
 * sk_pacing_rate is r_avg, and shows it, but spaces nothing.
 *
 * Where the paper leaves room (docs/rapid.md has the measurements):
 *
 * 1. One-way delays. A TCP sender has the times at which its packets left and ACKs came,
 *    in ns. The delay of the way back is taken for constant.
 * 2. Every packet has PSH set, by which a Linux receiver acknowledges it at once when it
 *    is read, and does not merge it with others. Where two are acknowledged together all
 *    the same, the later one is known, and the stream has half as many rates.
 * 3. Where the growth begins: see estimate.c.
 * 4. A queue that was too long once would stay, as r_avg is what the link still has. So
 *    r_avg is lower by as much as empties it in about one base round trip (drain_rtts).
 * 5. Losses: what was lost in a round trip found no bandwidth, and r_avg is lower by that
 *    share. A stream ends at a packet that was lost; if two or more are and nothing grew,
 *    the queue was too short to. Nothing else happens: random loss must not matter.
 * 6. A retransmission takes a place in the stream, and is no sample.
 * 7. A timeout: slow start anew from the start rate.
 * 8. After a pause longer than the timeout, slow start from the r_avg that was: a stream
 *    of four packets tells whether it is still right. After a shorter one a new stream
 *    begins.
 * 9. A stream of n packets tells of growth of at least n/4 packets, 2 to 5.
 * 10. r_avg stays the same within a stream, whatever estimates come in meanwhile.
 *
 * Known limits: two flows do not share fairly, a long-lived loss-based flow leaves next to
 * nothing, and where clocks have noise, "tolerance" must be set.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "cca_compat.h"
#include "estimate.h"
#include "stream.h"

#define RAPID_SLOW_FACTOR	2000	/* m, in thousandths */
#define RAPID_SLOW_SHAPES	5	/* N = 4, 8, 16, 32, 64 */
#define RAPID_SLOW_PACKETS	4
#define RAPID_LEAST_GAP		(100ULL << RAPID_GAP_BITS)
#define RAPID_PAUSE_NS		NSEC_PER_MSEC
#define RAPID_UNPACED_SEGMENTS	10
#define RAPID_LEAST_RECORDS	512
#define RAPID_MOST_RECORDS	16384
#define RAPID_SPARE_CWND	64
#define RAPID_WAIT_RTTS		2
#define RAPID_SHARE_BITS	16
#define RAPID_END_PACKETS	3

static unsigned int packets = 22;
static unsigned int factor_permille = 1070;
static unsigned int start_kbps = 850;
static unsigned int min_kbps = 100;
static unsigned int min_length = 5;
static unsigned int decrease = 8;
static unsigned int tolerance = 64;
static unsigned int drain_rtts = 1;
static bool push = true;

#define RAPID_PARAMETER(name, low, high, mode, text)					\
static int rapid_set_##name(const char *value, const struct kernel_param *param)	\
{											\
	return param_set_uint_minmax(value, param, low, high);				\
}											\
static const struct kernel_param_ops rapid_##name##_ops = {				\
	.set = rapid_set_##name,							\
	.get = param_get_uint,								\
};											\
module_param_cb(name, &rapid_##name##_ops, &name, mode);				\
MODULE_PARM_DESC(name, text " (" #low " to " #high ")")

RAPID_PARAMETER(packets, 8, 64, 0444, "packets of a stream, N");
RAPID_PARAMETER(factor_permille, 1010, 2000, 0444, "a rate of a stream by the one before, 1000 m");
RAPID_PARAMETER(start_kbps, 8, 1000000, 0644, "first r_avg, kbit/s of IP");
RAPID_PARAMETER(min_kbps, 8, 1000000, 0644, "least r_avg, kbit/s of IP");
RAPID_PARAMETER(min_length, 2, 32, 0644, "packets by which delays must grow");
RAPID_PARAMETER(decrease, 1, 1000, 0644, "growth is over when this part of it is left");
RAPID_PARAMETER(tolerance, 0, 1000, 0644, "this part of the growth is noise, 0: nothing is");
RAPID_PARAMETER(drain_rtts, 0, 100, 0644, "round trips for a standing queue to go, 0: never");
module_param(push, bool, 0644);
MODULE_PARM_DESC(push, "have receivers acknowledge each packet");

static struct rapid_shape steady_shape;
static struct rapid_shape slow_shapes[RAPID_SLOW_SHAPES];

/* A packet of new data that was sent. */
struct rapid_record {
	u32	seq;
	u32	sent_ns;	/* modulo 2^32 */
	u8	position;
	u8	packets;	/* of its stream */
	u16	stream;		/* its number, modulo 2^16 */
};

struct rapid {
	/* What is being sent. */
	u64	gap;		/* of r_avg, in units of 2^-8 ns */
	u64	stream_gap;	/* r_avg when the stream began */
	u64	due_ns;		/* when the next packet may leave */
	u64	next_gap_ns;	/* after the packet that may leave now */
	u32	segs_out;	/* tp->data_segs_out when last looked at */
	u32	wait_seq;	/* slow start: the stream ends before this */
	u64	wait_ns;	/* and is not waited for longer than until then */
	u32	slow_lost;	/* tp->lost when it began */
	u16	stream;
	u16	gso_max_segs;	/* the socket's, before it was ours */
	u8	position;	/* of the next packet in its stream */
	u8	slow_shape;
	u8	slow_start : 1,
		waiting : 1,	/* for the ACKs of a whole stream of slow start */
		planned : 1;	/* the record behind the last one is of the next packet */
	const struct rapid_shape *shape;	/* of the stream being sent */

	/* Packets in flight, a ring. */
	struct rapid_record *records;
	u32	capacity;	/* a power of two */
	u32	head;		/* runs on: the next to be acknowledged */
	u32	tail;		/* the one that is planned or will be */

	/* What has been acknowledged. */
	struct rapid_points points;
	u16	points_stream;
	u8	points_packets;
	u8	holes;		/* packets of that stream that were passed over */
	u32	window_delivered;	/* tp->delivered at the start of the window of losses */
	u32	window_lost;
	u32	window_estimates;
	u32	share;		/* of the packets that arrive, in units of 2^-16 */
	u32	estimates;
	u64	estimate_gap;	/* the latest, before anything is taken off */
};

/* NULL until the connection is established: the ACK of the SYN comes before. */
static struct rapid *rapid_of(const struct sock *sk)
{
	return *(struct rapid **)inet_csk_ca(sk);
}

static struct rapid_record *rapid_record(const struct rapid *rapid, u32 index)
{
	return &rapid->records[index & (rapid->capacity - 1)];
}

/* Bytes of a full packet on the wire, as rates count them. */
static u32 rapid_packet_bytes(const struct tcp_sock *tp)
{
	return tp->mss_cache + tp->tcp_header_len + sizeof(struct iphdr);
}

static u64 rapid_gap_of_kbps(const struct tcp_sock *tp, u32 kbps)
{
	u64 bit_us = (u64)rapid_packet_bytes(tp) * BITS_PER_BYTE * USEC_PER_SEC;

	return div_u64(bit_us << RAPID_GAP_BITS, kbps);
}

static void rapid_set_gap(struct sock *sk, struct rapid *rapid, u64 gap)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate;

	gap = clamp_t(u64, gap, RAPID_LEAST_GAP,
		      max_t(u64, rapid_gap_of_kbps(tp, READ_ONCE(min_kbps)), RAPID_LEAST_GAP));
	rate = div64_u64((u64)tp->mss_cache * NSEC_PER_SEC << RAPID_GAP_BITS, gap);
	if (rate > READ_ONCE(sk->sk_max_pacing_rate)) {
		rate = max_t(u64, READ_ONCE(sk->sk_max_pacing_rate), 1);
		gap = div64_u64((u64)tp->mss_cache * NSEC_PER_SEC << RAPID_GAP_BITS, rate);
	}
	rapid->gap = gap;
	WRITE_ONCE(sk->sk_pacing_rate, rate);
}

/* Twice what r_avg has in flight: a limit where ACKs fail to come, and no more. */
static void rapid_set_cwnd(struct tcp_sock *tp, const struct rapid *rapid)
{
	u64 flight = div64_u64((u64)(tp->srtt_us >> 3) * NSEC_PER_USEC << RAPID_GAP_BITS,
			       rapid->gap);

	tcp_snd_cwnd_set(tp, min_t(u64, 2 * flight + RAPID_SPARE_CWND, tp->snd_cwnd_clamp));
}

static void rapid_start_slowly(struct sock *sk, struct rapid *rapid, u64 gap)
{
	rapid->slow_start = 1;
	rapid->slow_shape = 0;
	rapid_set_gap(sk, rapid, gap);
}

/* ---- sending ----------------------------------------------------------- */

/* Room for one more record; if there is none, the packet is not recorded. */
static bool rapid_make_room(struct rapid *rapid)
{
	struct rapid_record *records;
	u32 i;

	if (rapid->tail - rapid->head < rapid->capacity)
		return true;
	if (rapid->capacity == RAPID_MOST_RECORDS)
		return false;
	records = kmalloc_array(rapid->capacity * 2, sizeof(*records), GFP_ATOMIC | __GFP_NOWARN);
	if (!records)
		return false;
	for (i = rapid->head; i != rapid->tail; i++)
		records[i & (rapid->capacity * 2 - 1)] = *rapid_record(rapid, i);
	kfree(rapid->records);
	rapid->records = records;
	rapid->capacity *= 2;
	return true;
}

static void rapid_begin_stream(struct rapid *rapid)
{
	rapid->shape = rapid->slow_start ? &slow_shapes[rapid->slow_shape] : &steady_shape;
	rapid->stream_gap = rapid->gap;
	rapid->position = 0;
	rapid->stream++;
}

/* What has left since the last look, which planned it. */
static void rapid_note_sent(struct sock *sk, struct rapid *rapid)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (rapid->segs_out == tp->data_segs_out)
		return;
	rapid->segs_out = tp->data_segs_out;
	/* New data or, in the same place, a retransmission. */
	if (rapid->planned && before(rapid_record(rapid, rapid->tail)->seq, tp->snd_nxt))
		rapid->tail++;
	rapid->planned = 0;
	if (rapid->waiting)
		return;		/* a loss probe */

	rapid->due_ns += rapid->next_gap_ns;
	rapid->position++;
	if (rapid->position == rapid->shape->packets && rapid->slow_start) {
		rapid->waiting = 1;
		rapid->wait_seq = tp->snd_nxt;
		rapid->wait_ns = rapid->due_ns + RAPID_WAIT_RTTS * (u64)(tp->srtt_us >> 3) * NSEC_PER_USEC;
	}
}

/* A qdisc that wants to pace may have changed the one, a new route the other. */
static void rapid_take_pacing(struct sock *sk)
{
	/* Paired with the acquire of whoever paces: what they need is set before. */
	if (sk->sk_pacing_status != SK_PACING_NEEDED)
		smp_store_release(&sk->sk_pacing_status, SK_PACING_NEEDED);
	if (sk->sk_gso_max_segs != 1)
		sk->sk_gso_max_segs = 1;
}

static void rapid_wake_at(struct sock *sk, u64 time_ns)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (hrtimer_is_queued(&tp->pacing_timer))
		return;
	hrtimer_start(&tp->pacing_timer, ns_to_ktime(time_ns), HRTIMER_MODE_ABS_PINNED_SOFT);
	sock_hold(sk);
}

/* A receiver acknowledges at once what was pushed. */
static void rapid_push(struct sock *sk)
{
	struct sk_buff *skb = tcp_send_head(sk);

	if (READ_ONCE(push) && skb && skb->len <= tcp_sk(sk)->mss_cache)
		TCP_SKB_CB(skb)->tcp_flags |= TCPHDR_PSH;
}

static void rapid_plan_packet(struct sock *sk, struct rapid *rapid, u64 now_ns)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool last = rapid->position + 1 == rapid->shape->packets;
	u64 mean_gap = last ? rapid->gap : rapid->stream_gap;
	u64 gap_ns = rapid_gap_after(rapid->shape, rapid->position, mean_gap) >> RAPID_GAP_BITS;

	/* By what a timer was late the gap is shorter, but not by more than half. */
	gap_ns -= min(now_ns - rapid->due_ns, gap_ns / 2);
	rapid->next_gap_ns = max_t(u64, gap_ns, 1);
	rapid->due_ns = now_ns;
	rapid->planned = rapid_make_room(rapid);
	if (rapid->planned)
		*rapid_record(rapid, rapid->tail) = (struct rapid_record) {
			.seq = tp->snd_nxt,
			.sent_ns = now_ns,
			.position = rapid->position,
			.packets = rapid->shape->packets,
			.stream = rapid->stream,
		};
	rapid_push(sk);
	tp->tcp_wstamp_ns = now_ns;
	rapid_wake_at(sk, now_ns + rapid->next_gap_ns);
	/* TCP does not pace the first ones; there is no window for two, either. */
	if (tp->data_segs_out < RAPID_UNPACED_SEGMENTS)
		tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp) + 1);
	else if (tp->data_segs_out == RAPID_UNPACED_SEGMENTS)
		rapid_set_cwnd(tp, rapid);
}

static void rapid_end_wait(struct sock *sk, struct rapid *rapid);

/* Is there anything to send, and room for it? If not, no timer must run. */
static bool rapid_can_send(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct sk_buff *skb = tcp_send_head(sk);

	if (tcp_packets_in_flight(tp) >= tcp_snd_cwnd(tp) &&
	    tp->data_segs_out > RAPID_UNPACED_SEGMENTS)
		return false;
	return tp->lost_out > tp->retrans_out ||
	       (skb && before(TCP_SKB_CB(skb)->seq, tcp_wnd_end(tp)));
}

/* TCP is about to send, if it may. */
static void rapid_plan(struct sock *sk, struct rapid *rapid)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;

	rapid_take_pacing(sk);
	rapid_note_sent(sk, rapid);
	/* The last ones may be lost, and what would tell of that must not wait, too. */
	if (rapid->waiting && (!tcp_packets_in_flight(tp) || now_ns >= rapid->wait_ns)) {
		rapid_end_wait(sk, rapid);
		rapid_set_cwnd(tp, rapid);
	}
	if (rapid->waiting) {
		tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp));
		rapid_wake_at(sk, rapid->wait_ns);
		return;
	}
	if (now_ns < rapid->due_ns) {
		tp->tcp_wstamp_ns = rapid->due_ns;
		return;
	}
	if (!rapid_can_send(sk))
		return;
	if (now_ns - rapid->due_ns > max_t(u64, rapid->gap >> RAPID_GAP_BITS, RAPID_PAUSE_NS)) {
		if (now_ns - rapid->due_ns > jiffies_to_nsecs(inet_csk(sk)->icsk_rto))
			rapid_start_slowly(sk, rapid, rapid->gap);
		rapid_begin_stream(rapid);
		rapid->due_ns = now_ns;
	} else if (rapid->position >= rapid->shape->packets) {
		rapid_begin_stream(rapid);
	}
	rapid_plan_packet(sk, rapid, now_ns);
}

static u32 rapid_min_tso_segs(struct sock *sk)
{
	struct rapid *rapid = rapid_of(sk);

	if (rapid)
		rapid_plan(sk, rapid);
	return 1;
}

/* ---- estimating -------------------------------------------------------- */

/* r_avg is lower by what empties the queue that waits behind the whole stream. */
static u64 rapid_drained(const struct tcp_sock *tp, u64 gap, u32 least_delay_ns)
{
	u32 base_us = max(tcp_min_rtt(tp), 1U);
	s32 queue_ns = least_delay_ns - base_us * (u32)NSEC_PER_USEC;
	u64 period_ns = (u64)base_us * NSEC_PER_USEC * READ_ONCE(drain_rtts);

	if (!period_ns || queue_ns <= 0)
		return gap;
	return gap + div64_u64(gap * (queue_ns >> 10), max_t(u64, period_ns >> 10, 1));
}

/* The gap at the highest rate of the stream being sent. */
static u64 rapid_least_gap(const struct rapid *rapid)
{
	return rapid_gap_after(rapid->shape, rapid->shape->packets - 2, rapid->stream_gap);
}

static void rapid_learn(struct sock *sk, struct rapid *rapid, const struct rapid_estimate *estimate)
{
	u64 gap = estimate->gap;

	if (estimate->verdict == RAPID_UNKNOWN)
		return;
	rapid->estimates++;
	rapid->estimate_gap = gap;
	gap = rapid_drained(tcp_sk(sk), gap, estimate->least_delay_ns);
	gap = div_u64(gap << RAPID_SHARE_BITS, rapid->share);
	rapid_set_gap(sk, rapid, gap);
}

/*
 * Growth that goes on at the last packet known tells. That there was none does so only
 * if the packets at that end of the stream are known.
 */
static bool rapid_tells(const struct rapid *rapid, enum rapid_verdict verdict)
{
	const struct rapid_points *points = &rapid->points;

	switch (verdict) {
	case RAPID_BELOW:
		return points->position[0] < RAPID_END_PACKETS;
	case RAPID_ABOVE:
		return points->position[points->count - 1] + RAPID_END_PACKETS >=
		       rapid->points_packets;
	default:
		return true;
	}
}

/*
 * Has a queue been too short for delays to grow? Several packets are missing then, or
 * the last ones of a stream of slow start. One that is missing was random loss.
 */
static bool rapid_overflowed(const struct rapid *rapid)
{
	const struct rapid_points *points = &rapid->points;

	if (points->count < 2)
		return false;
	return rapid->holes > 1 ||
	       (rapid->slow_start && points->position[0] < RAPID_END_PACKETS &&
		points->position[points->count - 1] + 1 < rapid->points_packets);
}

static enum rapid_verdict rapid_finish_stream(struct sock *sk, struct rapid *rapid)
{
	struct rapid_rule rule = {
		.min_length = clamp_t(u32, rapid->points_packets / 4, 2, READ_ONCE(min_length)),
		.decrease = READ_ONCE(decrease),
		.tolerance = READ_ONCE(tolerance),
	};
	struct rapid_estimate estimate = rapid_estimate(&rapid->points, rule);

	if (!rapid_tells(rapid, estimate.verdict))
		estimate.verdict = RAPID_UNKNOWN;
	if (estimate.verdict == RAPID_UNKNOWN && rapid_overflowed(rapid)) {
		estimate.verdict = RAPID_WITHIN;
		estimate.gap = rapid_last_gap(&rapid->points);
		estimate.least_delay_ns = rapid->points.delay_ns[0];
	}
	rapid_learn(sk, rapid, &estimate);
	rapid->points.count = 0;
	return estimate.verdict;
}

/* Have packets of both ends of the stream arrived? */
static bool rapid_spanned(const struct rapid *rapid)
{
	return rapid->points.count && rapid_tells(rapid, RAPID_BELOW) &&
	       rapid_tells(rapid, RAPID_ABOVE);
}

/* All of a stream of slow start has been acknowledged, or is lost. */
static void rapid_end_wait(struct sock *sk, struct rapid *rapid)
{
	bool spanned;

	if (rapid->points_stream != rapid->stream)
		rapid->points.count = 0;
	spanned = rapid_spanned(rapid);
	if (!rapid->points.count && tcp_sk(sk)->lost != rapid->slow_lost) {
		rapid->slow_shape = 0;
		goto next;
	}
	switch (rapid_finish_stream(sk, rapid)) {
	case RAPID_WITHIN:
		rapid->slow_start = 0;
		break;
	case RAPID_BELOW:
		rapid->slow_shape = 0;
		break;
	case RAPID_UNKNOWN:
		/* Delayed ACKs tell of too few; of retransmissions no delay is known. */
		rapid_set_gap(sk, rapid, spanned ? rapid_least_gap(rapid) : rapid->gap / 2);
		fallthrough;
	case RAPID_ABOVE:
		if (rapid->slow_shape < RAPID_SLOW_SHAPES - 1)
			rapid->slow_shape++;
	}
next:
	rapid->slow_lost = tcp_sk(sk)->lost;
	rapid->waiting = 0;
	rapid->due_ns = tcp_sk(sk)->tcp_clock_cache;
	rapid_begin_stream(rapid);
	/* It may have been set to the end of the wait. */
	if (hrtimer_try_to_cancel(&tcp_sk(sk)->pacing_timer) == 1)
		__sock_put(sk);
}

static void rapid_add_point(struct sock *sk, struct rapid *rapid, const struct rapid_record *record)
{
	struct rapid_points *points = &rapid->points;
	u32 i = points->count;

	if (i == RAPID_MOST_PACKETS || (i && record->position <= points->position[i - 1]))
		return;
	points->count++;
	points->sent_ns[i] = record->sent_ns;
	points->delay_ns[i] = (u32)tcp_sk(sk)->tcp_clock_cache - record->sent_ns;
	points->position[i] = record->position;
}

static void rapid_begin_points(struct sock *sk, struct rapid *rapid,
			       const struct rapid_record *record)
{
	/* In slow start, only a pause ends a stream early, and then it tells nothing. */
	if (!rapid->slow_start)
		rapid_finish_stream(sk, rapid);
	rapid->points.count = 0;
	rapid->points_stream = record->stream;
	rapid->points_packets = record->packets;
	rapid->holes = 0;
}

/*
 * An ACK tells of the arrival of the last of the packets that it acknowledges. Those
 * passed over without being acknowledged are lost, or late. Behind such a hole delays
 * are shorter, as the packet may not have been in the queue: the stream ends there.
 */
static void rapid_sample(struct sock *sk, struct rapid *rapid, const struct rate_sample *rs)
{
	u32 first = rapid->head;
	struct rapid_record *record;
	bool hole;
	u32 i;

	if (!rs->acked_sacked || rs->is_retrans)
		return;
	while (rapid->head != rapid->tail &&
	       before(rapid_record(rapid, rapid->head)->seq, rs->last_end_seq))
		rapid->head++;
	hole = rapid->head - first > rs->acked_sacked;
	for (i = first; i != rapid->head; i++) {
		record = rapid_record(rapid, i);
		if (record->stream != rapid->points_stream)
			rapid_begin_points(sk, rapid, record);
		if (hole && i + 1 != rapid->head)
			rapid->holes++;
		if (i + 1 == rapid->head && !rapid->holes)
			rapid_add_point(sk, rapid, record);
	}
}

/*
 * The share of packets that arrive, once in a round trip. Where losses let no stream
 * tell, what has arrived is the estimate.
 */
static void rapid_count_losses(struct sock *sk, struct rapid *rapid, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered - rapid->window_delivered;
	u32 lost = tp->lost - rapid->window_lost;

	if (rs->delivered < 0 || before(rs->prior_delivered, rapid->window_delivered))
		return;
	if (delivered) {
		rapid->share = div_u64((u64)delivered << RAPID_SHARE_BITS, (u64)delivered + lost);
		rapid->share = max(rapid->share, 1U);
	}
	if (lost && !rapid->slow_start && rapid->estimates == rapid->window_estimates)
		rapid_set_gap(sk, rapid, div_u64(rapid->gap << RAPID_SHARE_BITS, rapid->share));
	rapid->window_estimates = rapid->estimates;
	rapid->window_delivered = tp->delivered;
	rapid->window_lost = tp->lost;
}

static CONG_CONTROL(rapid_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rapid *rapid = rapid_of(sk);

	if (!rapid)
		return;
	rapid_note_sent(sk, rapid);
	rapid_count_losses(sk, rapid, rs);
	rapid_sample(sk, rapid, rs);
	if (rapid->waiting && !before(tp->snd_una, rapid->wait_seq))
		rapid_end_wait(sk, rapid);
	rapid_set_cwnd(tp, rapid);
}

static u32 rapid_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static u32 rapid_undo_cwnd(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static void rapid_set_state(struct sock *sk, u8 state)
{
	struct rapid *rapid = rapid_of(sk);

	if (!rapid || state != TCP_CA_Loss || inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		return;
	rapid_note_sent(sk, rapid);
	rapid_start_slowly(sk, rapid, rapid_gap_of_kbps(tcp_sk(sk), READ_ONCE(start_kbps)));
	rapid->points.count = 0;
	rapid->waiting = 0;
	rapid->due_ns = tcp_sk(sk)->tcp_clock_cache;
	rapid_begin_stream(rapid);
}

/* BBR's record has room for what RAPID knows. */
static size_t rapid_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct rapid *rapid = rapid_of(sk);
	u32 asked = 1 << (INET_DIAG_BBRINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1);
	u64 rate;

	if (!rapid || !(ext & asked))
		return 0;
	rate = div64_u64((u64)rapid_packet_bytes(tcp_sk(sk)) * NSEC_PER_SEC << RAPID_GAP_BITS,
			 rapid->estimate_gap ?: rapid->gap);
	info->bbr = (struct tcp_bbr_info) {
		.bbr_bw_lo = lower_32_bits(rate),
		.bbr_bw_hi = upper_32_bits(rate),
		.bbr_min_rtt = tcp_min_rtt(tcp_sk(sk)),
		.bbr_pacing_gain = rapid->shape->packets,
		.bbr_cwnd_gain = rapid->estimates,
	};
	*attr = INET_DIAG_BBRINFO;
	return sizeof(info->bbr);
}

static struct tcp_congestion_ops rapid_without_memory __read_mostly = {
	.name		= "rapid",
	.owner		= THIS_MODULE,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static void rapid_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct rapid *rapid = kzalloc(sizeof(*rapid), GFP_ATOMIC | __GFP_NOWARN);

	if (rapid) {
		rapid->capacity = RAPID_LEAST_RECORDS;
		rapid->records = kmalloc_array(rapid->capacity, sizeof(*rapid->records),
					       GFP_ATOMIC | __GFP_NOWARN);
	}
	if (!rapid || !rapid->records) {
		kfree(rapid);
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &rapid_without_memory);
		return;
	}
	*(struct rapid **)inet_csk_ca(sk) = rapid;

	rapid->gso_max_segs = sk->sk_gso_max_segs;
	rapid->segs_out = tp->data_segs_out;
	rapid->share = 1U << RAPID_SHARE_BITS;
	rapid->window_delivered = tp->delivered;
	rapid->window_lost = tp->lost;
	rapid_start_slowly(sk, rapid, rapid_gap_of_kbps(tp, READ_ONCE(start_kbps)));
	rapid->due_ns = tp->tcp_clock_cache;
	rapid_begin_stream(rapid);
	rapid_take_pacing(sk);
}

static void rapid_release(struct sock *sk)
{
	struct rapid *rapid = rapid_of(sk);

	if (!rapid)
		return;
	sk->sk_gso_max_segs = rapid->gso_max_segs;
	kfree(rapid->records);
	kfree(rapid);
	*(struct rapid **)inet_csk_ca(sk) = NULL;
}

static struct tcp_congestion_ops rapid_ops __read_mostly = {
	.name		= "rapid",
	.owner		= THIS_MODULE,
	.init		= rapid_init,
	.release	= rapid_release,
	.cong_control	= rapid_cong_control,
	.min_tso_segs	= rapid_min_tso_segs,
	.ssthresh	= rapid_ssthresh,
	.set_state	= rapid_set_state,
	.undo_cwnd	= rapid_undo_cwnd,
	.get_info	= rapid_get_info,
};

static int __init rapid_register(void)
{
	u32 i;

	BUILD_BUG_ON(sizeof(struct rapid *) > ICSK_CA_PRIV_SIZE);
	rapid_shape_init(&steady_shape, packets, factor_permille);
	for (i = 0; i < RAPID_SLOW_SHAPES; i++)
		rapid_shape_init(&slow_shapes[i], RAPID_SLOW_PACKETS << i, RAPID_SLOW_FACTOR);
	return tcp_register_congestion_control(&rapid_ops);
}

static void __exit rapid_unregister(void)
{
	tcp_unregister_congestion_control(&rapid_ops);
}

module_init(rapid_register);
module_exit(rapid_unregister);

MODULE_DESCRIPTION("RAPID: congestion control that finds the available bandwidth within a few round trips");
MODULE_LICENSE("GPL");
