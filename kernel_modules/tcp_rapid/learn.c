// SPDX-License-Identifier: GPL-2.0
/* Evaluation of ACKs, and the resulting r_avg. */
#include "rapid.h"
#include "settings.h"

#define RAPID_END_PACKETS	3

/* Lowers r_avg to drain the queue that remains during the whole stream. */
static u64 rapid_drained(const struct tcp_sock *tp, u64 gap, u32 least_delay_ns)
{
	u32 base_us = max(tcp_min_rtt(tp), 1U);
	s32 queue_ns = least_delay_ns - base_us * (u32)NSEC_PER_USEC;
	u64 period_ns = (u64)base_us * NSEC_PER_USEC * READ_ONCE(rapid_settings.drain_rtts);

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
 * Returns true if the samples support a verdict. Growth that lasts until the last sample
 * does. The absence of growth requires samples at that end of the stream.
 */
static bool rapid_supports(const struct rapid *rapid, enum rapid_verdict verdict)
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
 * Returns true if the queue was too short for growing delays: several packets are missing,
 * or the last packets of a stream in slow start. A single missing packet was random loss.
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
		.min_length = clamp_t(u32, rapid->points_packets / 4, 2, READ_ONCE(rapid_settings.min_length)),
		.decrease = READ_ONCE(rapid_settings.decrease),
		.tolerance = READ_ONCE(rapid_settings.tolerance),
		.pathchirp = READ_ONCE(rapid_settings.pathchirp),
	};
	struct rapid_estimate estimate = rapid_estimate(&rapid->points, rule);

	if (!rapid_supports(rapid, estimate.verdict))
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

/* Returns true if there are samples at both ends of the stream. */
static bool rapid_spanned(const struct rapid *rapid)
{
	return rapid->points.count && rapid_supports(rapid, RAPID_BELOW) &&
	       rapid_supports(rapid, RAPID_ABOVE);
}

void rapid_end_wait(struct sock *sk, struct rapid *rapid)
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
		/* Too few samples, because of delayed ACKs or retransmissions. */
		rapid_set_gap(sk, rapid, spanned ? rapid_least_gap(rapid) : rapid->gap / 2);
		fallthrough;
	case RAPID_ABOVE:
		rapid_lengthen(rapid);
	}
next:
	rapid->slow_lost = tcp_sk(sk)->lost;
	rapid->waiting = 0;
	rapid->due_ns = tcp_sk(sk)->tcp_clock_cache;
	rapid_begin_stream(rapid);
	/* The timer may have been set to the end of the wait. */
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
	/* In slow start, only a pause ends a stream early, which makes it useless. */
	if (!rapid->slow_start)
		rapid_finish_stream(sk, rapid);
	rapid->points.count = 0;
	rapid->points_stream = record->stream;
	rapid->points_packets = record->packets;
	rapid->holes = 0;
}

/*
 * Samples the last packet that an ACK acknowledges. Earlier unacknowledged packets are lost
 * or late. After such a hole delays are shorter, because the packet may not have been in the
 * queue, so the stream ends there.
 */
void rapid_sample(struct sock *sk, struct rapid *rapid, const struct rate_sample *rs)
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
 * Updates the delivered share of packets once per round trip. If losses leave no stream with
 * an estimate, the delivered rate is the estimate.
 */
void rapid_count_losses(struct sock *sk, struct rapid *rapid, const struct rate_sample *rs)
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
