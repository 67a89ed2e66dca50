// SPDX-License-Identifier: GPL-2.0
/*
 * RAPID (Konda and Kaur, "Rethinking the Timescales at Which Congestion-control
 * Operates"): the available bandwidth within a few round trips.
 *
 * Packets are sent in p-streams of N. Packet i of a stream is sent at the rate
 * r_(i-1) = m^(i-2) r_1, which determines the gap before it; the mean rate is r_avg:
 *
 *	(N - 1) / r_avg = 1 / r_1 + ... + 1 / r_(N-1)
 *
 * and the gap between two streams is that of r_avg. Where the delay starts to grow
 * within a stream, its rates exceed the available bandwidth, which is the next r_avg.
 *
 *	slow start	m = 2, N = 4, 8, ... 64, one stream per round trip, until the
 *			available bandwidth is among the rates of the stream
 *	then		m = 1.07, N = 22, without a pause; each acknowledged stream
 *			sets r_avg
 *
 * Each packet has its own gap. TCP calls min_tso_segs before it sends, with the socket
 * locked, where the time of the next packet is determined. Before that time, it is
 * stored in tcp_wstamp_ns, so that TCP's own pacing waits for it; at that time, TCP's
 * pacing timer is set for the packet after it. Segments have one packet. sk_pacing_rate
 * reports r_avg, but does not pace.
 *
 * Decisions where the paper is silent (measurements in docs/rapid.md):
 *
 * 1. One-way delays: a TCP sender has the times of its packets and of ACKs, in ns. The
 *    delay of the reverse path is assumed constant.
 * 2. Every packet has PSH set, so that a Linux receiver acknowledges it immediately when
 *    it is read, and does not merge it with others. If two packets share an ACK, only
 *    the later one is measured, and the stream has half as many rates.
 * 3. The start of the growth: see estimate.c.
 * 4. A standing queue would persist, because r_avg is the remaining rate of the link. A
 *    lower r_avg drains it in about one base round trip (drain_rtts).
 * 5. Losses: packets lost in a round trip found no bandwidth, so r_avg is reduced by
 *    their share. A stream ends at a lost packet; if two or more are lost without
 *    growth, the queue was too short for growth. In recovery, packets are conserved
 *    (RFC 9937, recovery.h) once the losses exceed the unused half of the window. Losses
 *    have no other effect, so that random loss has none. A stream instead of half the window
 *    would be too little: in long recoveries, 1 % of random loss would cost half of the link.
 * 6. A retransmission has a place in the stream, but is not a sample.
 * 7. A timeout restarts slow start at the initial rate.
 * 8. After a pause longer than the timeout, slow start begins at the previous r_avg, so
 *    that a stream of four packets tests it. After a shorter pause a new stream begins.
 * 9. A stream of n packets detects growth over at least n/4 packets, 2 to 5.
 * 10. r_avg is constant within a stream, regardless of new estimates.
 *
 * Known limits: two flows do not share fairly, a long-lived loss-based flow leaves almost
 * nothing, and with noisy clocks "tolerance" must be set.
 */
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

#include "cca_compat.h"
#include "ccbench_describe.h"
#include "packet_bytes.h"
#include "rapid.h"
#include "recovery.h"
#include "settings.h"

#define RAPID_LEAST_RECORDS	512

static u32 rapid_min_tso_segs(struct sock *sk)
{
	struct rapid *rapid = rapid_of(sk);

	if (rapid)
		rapid_plan(sk, rapid);
	return 1;
}

static CONG_CONTROL(rapid_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct rapid *rapid = rapid_of(sk);
	u32 cwnd;

	if (!rapid)
		return;
	rapid_note_sent(sk, rapid);
	rapid_count_losses(sk, rapid, rs);
	rapid_sample(sk, rapid, rs);
	if (rapid->waiting && !before(tp->snd_una, rapid->wait_seq))
		rapid_end_wait(sk, rapid);
	rapid_set_cwnd(tp, rapid);
	cwnd = tcp_snd_cwnd(tp);
	tcp_snd_cwnd_set(tp, recovery_window(sk, rs, cwnd, cwnd / 2));
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
	rapid_start_slowly(sk, rapid, rapid_gap_of_kbps(tcp_sk(sk), READ_ONCE(rapid_settings.start_kbps)));
	rapid->points.count = 0;
	rapid->waiting = 0;
	rapid->due_ns = tcp_sk(sk)->tcp_clock_cache;
	rapid_begin_stream(rapid);
}

/* RAPID reports its state in the structure of BBR. */
static size_t rapid_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct rapid *rapid = rapid_of(sk);
	u32 asked = 1 << (INET_DIAG_BBRINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1);
	u64 rate;

	if (!rapid || !(ext & asked))
		return 0;
	rate = div64_u64((u64)packet_bytes(tcp_sk(sk)) * NSEC_PER_SEC << RAPID_GAP_BITS,
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
	rapid_start_slowly(sk, rapid, rapid_gap_of_kbps(tp, READ_ONCE(rapid_settings.start_kbps)));
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
	/* Readers of the state hold no lock. */
	WRITE_ONCE(*(struct rapid **)inet_csk_ca(sk), NULL);
	kfree_rcu(rapid, rcu);
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
	BUILD_BUG_ON(sizeof(struct rapid *) > ICSK_CA_PRIV_SIZE);
	rapid_make_shapes();
	return tcp_register_congestion_control(&rapid_ops);
}

static void __exit rapid_unregister(void)
{
	tcp_unregister_congestion_control(&rapid_ops);
}

module_init(rapid_register);
module_exit(rapid_unregister);

MODULE_DESCRIPTION("RAPID: congestion control that measures the available bandwidth within a few round trips");
MODULE_LICENSE("GPL");

/* The available bandwidth in bytes per second, packets of a stream, number of estimates. */
CCBENCH_CCA(rapid, CCA_INFO("estimate_low|estimate_high|min_us|packets|estimates"),
	    "RAPID: available bandwidth from the gaps between packets");
