// SPDX-License-Identifier: GPL-2.0
/*
 * Send times of packets. TCP calls min_tso_segs before it sends, with the socket locked, where
 * the time of the next packet is determined.
 */
#include <linux/slab.h>

#include "rapid.h"
#include "settings.h"

#define RAPID_PAUSE_NS		NSEC_PER_MSEC
#define RAPID_UNPACED_SEGMENTS	10
#define RAPID_MOST_RECORDS	16384
#define RAPID_WAIT_RTTS		2

/* Makes room for another record; without memory, the packet is not recorded. */
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

void rapid_note_sent(struct sock *sk, struct rapid *rapid)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (rapid->segs_out == tp->data_segs_out)
		return;
	rapid->segs_out = tp->data_segs_out;
	/* New data, or a retransmission in the same place. */
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

void rapid_take_pacing(struct sock *sk)
{
	if (sk->sk_pacing_status != SK_PACING_NEEDED)
		/* Pairs with smp_load_acquire() in tcp_needs_internal_pacing(). */
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

/* A receiver acknowledges packets with PSH immediately. */
static void rapid_push(struct sock *sk)
{
	struct sk_buff *skb = tcp_send_head(sk);

	if (READ_ONCE(rapid_settings.push) && skb && skb->len <= tcp_sk(sk)->mss_cache)
		TCP_SKB_CB(skb)->tcp_flags |= TCPHDR_PSH;
}

static void rapid_plan_packet(struct sock *sk, struct rapid *rapid, u64 now_ns)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool last = rapid->position + 1 == rapid->shape->packets;
	u64 mean_gap = last ? rapid->gap : rapid->stream_gap;
	u64 gap_ns = rapid_gap_after(rapid->shape, rapid->position, mean_gap) >> RAPID_GAP_BITS;

	/* Shortens the gap by the delay of the timer, at most by half. */
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
	/* TCP does not pace the first packets, so the window has room for one. */
	if (tp->data_segs_out < RAPID_UNPACED_SEGMENTS)
		tcp_snd_cwnd_set(tp, tcp_packets_in_flight(tp) + 1);
	else if (tp->data_segs_out == RAPID_UNPACED_SEGMENTS)
		rapid_set_cwnd(tp, rapid);
}

/* Returns true if there is data and room in the windows. Otherwise no timer must run. */
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

void rapid_plan(struct sock *sk, struct rapid *rapid)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;

	rapid_take_pacing(sk);
	rapid_note_sent(sk, rapid);
	/* The last packets may be lost, so a loss probe must not wait. */
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
