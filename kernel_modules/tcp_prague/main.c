// SPDX-License-Identifier: GPL-2.0
/*
 * Prague: a scalable congestion control for L4S (RFC 9330), with the requirements of RFC 9331,
 * section 4, and the algorithm of draft-briscoe-iccrg-prague-congestion-control.
 *
 * An AQM of L4S marks a share p of packets that is proportional to congestion, as soon as its
 * queue exceeds a threshold of about a millisecond. The window W follows:
 *
 *	alpha	moving average of the marked share, once per round: alpha += (p - alpha) / 16
 *	mark	W -= W alpha / 2 for the rounds since the last mark, at most once per round
 *	ACK	W += a / W for each packet without a mark
 *
 * so that p = 2/W: each round has about two marks at any rate. It differs from DCTCP:
 *
 * 1. Packets carry ECT(1) (ect1.c), and the receiver reports the number of marks (AccECN,
 *    RFC 9768). Without AccECN there are no marks: Reno without ECN.
 * 2. The window has a fraction, which pacing realises. Its minimum is 1/8 packet: a pacing
 *    rate of less than one packet per RTT. A window in packets is at least 2, so that a
 *    delayed ACK does not stop the flow.
 * 3. RTT independence: a flow with an RTT R below 25 ms has the rate of one with 25 ms. Rounds
 *    take V = max(R, 25 ms), and a = (R/V)^2 packets, which is 1 above 25 ms. The rate W/R is
 *    then 2/(p V).
 * 4. Packets are paced at W/R, and at twice this rate in slow start. A burst is one packet or
 *    what the rate sends in 1/4 ms.
 * 5. The window also grows in the round after a mark: growth and reduction are independent.
 * 6. Slow start ends at the first mark, which halves the window: alpha is 1 until then. Marks
 *    of the first 10 packets, which the stack sends at once, only show that burst: they do
 *    not grow the window, and do not reduce it.
 * 7. Losses have Reno's response (RFC 5681): half the window, and until the next mark one
 *    packet per RTT at any RTT. A loss in the round trip of a mark halves the window before
 *    the mark. A loss that a tail loss probe repaired counts, too. In recovery, packets are
 *    conserved (RFC 9937, recovery.h).
 * 8. The variation of RTTs shows a classic AQM (classic.c), whose marks have Reno's response.
 *
 * W = 2/p requires a reduction in each round, but a reduction waits for a mark. If marks are
 * random, the wait is 1/(W p) rounds, so that W p = 2 (1 + 1/(W p)), or W = 2.7/p with the
 * draft's reduction by alpha/2. Here, a reduction covers the rounds since the last one, at
 * most two, and W = 2.1/p.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>

#include "cca_compat.h"
#include "prague.h"
#include "recovery.h"
#include "tcp_prague_info.h"

#define GAIN_SHIFT		4	/* g = 1/16 */
#define MIN_CWND		2
#define BURST_SHIFT		12	/* of a second: 1/4 ms */
#define SLOW_START_PACING	2
/* Data packets at the start of a connection that the stack does not pace. */
#define UNPACED_PACKETS		10

/* ---- processing of ACKs ----------------------------------------------- */

static void start_round(const struct tcp_sock *tp, struct prague *prague)
{
	prague->round_us = tp->tcp_mstamp;
	prague->round_delivered = tp->delivered;
	prague->round_ce = tp->delivered_ce;
}

/* Includes the marked share of the ending round in alpha. */
static void end_round(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *prague = prague_of(sk);
	u32 delivered = tp->delivered - prague->round_delivered;
	u32 ce = min(tp->delivered_ce - prague->round_ce, delivered);

	if (!delivered || (u32)tp->tcp_mstamp - prague->round_us < prague_virtual_rtt_us(sk))
		return;
	if (prague->marked) {
		u32 share = div_u64((u64)ce << PRAGUE_ALPHA_SHIFT, delivered);

		prague->alpha += (share >> GAIN_SHIFT) - (prague->alpha >> GAIN_SHIFT);
		prague_classic_round(tp, prague);
	}
	start_round(tp, prague);
}

static void set_cwnd(struct sock *sk, const struct rate_sample *rs)
{
	const struct prague *prague = prague_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 packets = max_t(u64, DIV_ROUND_UP_ULL(prague->window, PRAGUE_PACKET), MIN_CWND);

	packets = recovery_window(sk, rs, packets, 0);
	tcp_snd_cwnd_set(tp, min(packets, tp->snd_cwnd_clamp));
	tp->snd_ssthresh = min_t(u64, prague->ssthresh >> PRAGUE_SHIFT, TCP_INFINITE_SSTHRESH);
}

/* Sets the pacing rate, and the size of bursts, which the stack would enlarge at short RTTs. */
static void set_pacing(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct prague *prague = prague_of(sk);
	u64 bytes_per_s = mul_u64_u64_div_u64(prague->window, (u64)tp->mss_cache * USEC_PER_SEC,
					      (u64)prague_rtt_us(tp) << PRAGUE_SHIFT);
	u32 burst;

	if (prague_in_slow_start(prague))
		bytes_per_s *= SLOW_START_PACING;
	bytes_per_s = clamp_t(u64, bytes_per_s, 1, READ_ONCE(sk->sk_max_pacing_rate));
	WRITE_ONCE(sk->sk_pacing_rate, bytes_per_s);
	burst = max_t(u64, div_u64(bytes_per_s >> BURST_SHIFT, max(tp->mss_cache, 1U)), 1);
	sk->sk_gso_max_segs = min_t(u32, burst, prague->gso_max_segs);
}

static CONG_CONTROL(prague_cong_control, sk, rs)
{
	const u8 state = inet_csk(sk)->icsk_ca_state;
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *prague = prague_of(sk);
	u32 in_flight, ce;

	/* The ACK of the SYN precedes prague_init(). */
	if (!prague->window)
		return;
	/* Packets in flight before this ACK, including those wrongly marked lost. */
	in_flight = max(rs->prior_in_flight, tcp_packets_in_flight(tp) + rs->acked_sacked);
	ce = tp->delivered_ce - prague->ce;
	prague->ce = tp->delivered_ce;

	end_round(sk);
	/* The SYN counts as delivered. */
	if (ce && tp->delivered > UNPACED_PACKETS + 1) {
		prague_reduce_for_mark(sk);
		prague->marked = 1;
		prague->lossy = 0;
	}
	if (prague->marked && rs->rtt_us > 0)
		prague_classic_sample(prague, rs->rtt_us);
	if (rs->acked_sacked > ce && !rs->is_app_limited && state != TCP_CA_Recovery)
		prague_grow(sk, rs->acked_sacked - ce, in_flight);
	set_cwnd(sk, rs);
	set_pacing(sk);
}

/* ---- losses ----------------------------------------------------------- */

static void prague_set_state(struct sock *sk, u8 new_state)
{
	const u8 old_state = inet_csk(sk)->icsk_ca_state;
	const struct prague *prague = prague_of(sk);

	if (new_state == old_state || !prague->window)
		return;
	switch (new_state) {
	case TCP_CA_CWR:
		/* Without a new mark, a tail loss probe has repaired a loss. */
		if (tcp_sk(sk)->delivered_ce == prague->ce)
			prague_reduce_for_loss(sk);
		break;
	case TCP_CA_Recovery:
		prague_reduce_for_loss(sk);
		break;
	case TCP_CA_Loss:
		if (old_state != TCP_CA_Recovery)
			prague_reduce_for_loss(sk);
		prague_timeout(sk);
		break;
	}
}

static u32 prague_undo_cwnd(struct sock *sk)
{
	prague_undo(sk);
	return max_t(u64, prague_of(sk)->window >> PRAGUE_SHIFT, tcp_snd_cwnd(tcp_sk(sk)));
}

/* set_cwnd() sets it. */
static u32 prague_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

/* Bursts are at least one packet. */
static u32 prague_min_tso_segs(struct sock *sk)
{
	return 1;
}

/* ---- state for inet_diag ---------------------------------------------- */

static size_t prague_get_info(struct sock *sk, u32 extensions, int *attribute,
			      union tcp_cc_info *info)
{
	struct tcp_prague_info *state = (struct tcp_prague_info *)info;
	const struct prague *prague = prague_of(sk);

	BUILD_BUG_ON(sizeof(*state) > sizeof(*info));
	if (!(extensions & BIT(INET_DIAG_VEGASINFO - 1)))
		return 0;
	*state = (struct tcp_prague_info) {
		.alpha_ppm = (u64)prague->alpha * 1000000 >> PRAGUE_ALPHA_SHIFT,
		.window_milli = prague->window * 1000 >> PRAGUE_SHIFT,
		.ce_packets = prague->ce,
		.reductions = prague->reductions,
		.classic_permille = prague_classic_share(prague) * 1000 >> PRAGUE_CLASSIC_SHIFT,
		.accecn = prague->accecn,
	};
	*attribute = INET_DIAG_PRAGUEINFO;
	return sizeof(*state);
}

/* ---- registration ----------------------------------------------------- */

static void prague_release(struct sock *sk)
{
	const struct prague *prague = prague_of(sk);

	if (prague->gso_max_segs)
		sk->sk_gso_max_segs = prague->gso_max_segs;
}

/* For connections without AccECN: packets that are not ECN-capable. */
static struct tcp_congestion_ops prague_without_ecn __read_mostly = {
	.cong_control	= prague_cong_control,
	.set_state	= prague_set_state,
	.ssthresh	= prague_ssthresh,
	.undo_cwnd	= prague_undo_cwnd,
	.min_tso_segs	= prague_min_tso_segs,
	.get_info	= prague_get_info,
	.release	= prague_release,
	.owner		= THIS_MODULE,
	.name		= "prague",
};

static void prague_init(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *prague = prague_of(sk);

	*prague = (struct prague) {
		.window = tcp_snd_cwnd(tp) * PRAGUE_PACKET,
		.ssthresh = U64_MAX,
		.alpha = PRAGUE_ALPHA_ONE,
		.ce = tp->delivered_ce,
		.reduced_us = tp->tcp_mstamp,
		.gso_max_segs = sk->sk_gso_max_segs,
		.accecn = tcp_ecn_mode_accecn(tp),
	};
	start_round(tp, prague);
	if (!prague->accecn)
		WRITE_ONCE(icsk->icsk_ca_ops, &prague_without_ecn);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	sk_pacing_shift_update(sk, BURST_SHIFT);
	if (tp->srtt_us)
		set_pacing(sk);
}

struct tcp_congestion_ops prague_ops __read_mostly = {
	.flags		= TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN |
			  TCP_CONG_ECT_1_NEGOTIATION | TCP_CONG_NO_FALLBACK_RFC3168,
	.init		= prague_init,
	.cong_control	= prague_cong_control,
	.set_state	= prague_set_state,
	.ssthresh	= prague_ssthresh,
	.undo_cwnd	= prague_undo_cwnd,
	.min_tso_segs	= prague_min_tso_segs,
	.get_info	= prague_get_info,
	.release	= prague_release,
	.owner		= THIS_MODULE,
	.name		= "prague",
};

static int __init prague_register(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct prague) > ICSK_CA_PRIV_SIZE);
	err = prague_ect1_register();
	if (err)
		return err;
	err = tcp_register_congestion_control(&prague_ops);
	if (err)
		prague_ect1_unregister();
	return err;
}

static void __exit prague_unregister(void)
{
	tcp_unregister_congestion_control(&prague_ops);
	prague_ect1_unregister();
}

module_init(prague_register);
module_exit(prague_unregister);
