// SPDX-License-Identifier: GPL-2.0
/*
 * BBR version 3, from draft-ietf-ccwg-bbr (the working group's text of 3 August 2026, commit
 * 4ce5e87). Functions and state have the draft's names, and each file is a section of it:
 *
 *	main.c		initialisation and the steps per ACK ("Algorithm Organization")
 *	startup.c	Startup and Drain
 *	probe_bw.c	ProbeBW: DOWN, CRUISE, REFILL, UP
 *	probe_rtt.c	ProbeRTT and the minimum RTT
 *	model.c		rounds, bandwidth, short-term model, aggregation
 *	loss.c		losses, marks and spurious recoveries
 *	control.c	gains, pacing rate, quantum and window
 *	settings.c	constants, as module parameters
 *	info.c		state for inet_diag
 *
 * What Linux does not tell a congestion control, ccbench's kernels do: what was in flight when a
 * packet was sent, and which packets are lost (the operation packet_lost).
 *
 * Deviations from the draft, with their reasons:
 *
 * 1. Volumes are in packets, as in Linux, and multiples of the BDP are rounded up. Packets count as
 *    full ones, also in rates, which are in bytes of payload per second. send_quantum is in bytes.
 * 2. The state for an undo is saved once per recovery, before its first loss has an effect.
 *    SaveStateUponLoss() in each round and once more at the start of recovery, as in the draft,
 *    would save what the losses have already changed: TCP marks packets as lost before it
 *    enters recovery, and HandleInflightTooHigh() ends the round of losses.
 * 3. An ACK that acknowledges nothing has no sample. It does not start a round, and changes no
 *    bound. The draft's conditions would compare with values of no packet.
 * 4. CheckProbeRTT() saves the window before it enters ProbeRTT: afterwards, SaveCwnd() keeps
 *    an earlier window if it was larger.
 * 5. A cycle without a sample of the bandwidth does not advance the maximum's filter: only a newer
 *    sample replaces an old one.
 * 6. lost_prefix in InflightAtLoss() is at least 0: the losses before a packet may already have
 *    been too many for what was in flight before it.
 * 7. Startup that ends by losses also sets full_bw_now, as the draft's test case requires and
 *    its description does not.
 * 8. A lost range is a packet marked as lost that does not follow the last one in sequence: the
 *    draft does not say how to count ranges. Each packet marked CE is a range.
 * 9. Packets marked CE are added to the lost ones in loss rates, and begin a round of losses. The
 *    draft requires that marks are congestion, but does not say how. With RFC 3168, Linux counts
 *    all packets as marked until the sender has answered, so that any mark is too many. Packets
 *    carry ECT(0): the draft has no response that L4S allows. For marks, no state is saved for an
 *    undo: they are never spurious.
 * 10. A burst is what Linux sends in 2^-10 s, and more if the RTT is below 5 ms: a congestion
 *     control sets its least size only. send_quantum, from which the offload budget follows, is the
 *     draft's.
 * 11. probe_rtt_min_delay, which the draft does not initialise, begins as min_rtt.
 * 12. A sample without a rate does not count as a round without growth: it has nothing to compare.
 * 13. TCP does not mark a packet as lost that its tail loss probe has repaired, but enters CWR for
 *     a moment. CWR begins a round of losses, without a packet for the loss rate. TCP also enters
 *     it for marks, and for packets that a queue of the sending host drops.
 * 14. A restart from idle also resets extra_acked_delivered, which is defined as the volume since
 *     extra_acked_interval_start. HandleRestartFromIdle() of the draft moves the start only: all
 *     that was delivered before then counts as aggregation, and the window grows without bound.
 * 15. The pacing rate is at least a packet per second. The time of the next packet follows from
 *     the rate when the last one is sent, so that a low rate, as after timeouts or with a low gain
 *     on a slow path, would silence the flow for long after the rate has risen.
 * 16. Losses end Startup also in CWR (marks), not only in fast recovery; without SACK they do so at
 *     the end of their round.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "bbr3.h"
#include "cca_compat.h"

/* TCP provisions this many windows of memory, as a window is resent while the next is sent. */
#define SEND_BUFFER_WINDOWS	3

/* ---- the steps per ACK ------------------------------------------------ */

/* GenerateRateSample(), which Linux has done */
static struct bbr3_sample sample_of(const struct tcp_sock *tp, const struct rate_sample *rs)
{
	struct bbr3_sample sample = {
		.newly_acked = rs->acked_sacked,
		.is_app_limited = rs->is_app_limited,
		.rtt_us = rs->rtt_us,
	};

	if (!rs->prior_mstamp)
		return sample;
	sample.has_data = true;
	sample.prior_delivered = rs->prior_delivered;
	sample.delivered = tp->delivered - rs->prior_delivered;
	sample.tx_in_flight = rs->sent_in_flight;
	sample.lost = tp->lost - rs->sent_lost + max(rs->delivered_ce, 0);
	if (rs->delivered > 0 && rs->interval_us > 0)
		sample.delivery_rate = div64_ul((u64)rs->delivered * tp->mss_cache * USEC_PER_SEC,
						rs->interval_us);
	return sample;
}

/* UpdateModelAndState() */
static void update_model_and_state(struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs)
{
	bbr3_update_latest_delivery_signals(sk, bbr, rs);
	bbr3_update_congestion_signals(sk, bbr, rs);
	bbr3_update_ack_aggregation(sk, bbr, rs);
	bbr3_check_full_bw_reached(bbr, rs);
	bbr3_check_startup_done(sk, bbr, rs);
	bbr3_check_drain_done(sk, bbr);
	bbr3_update_probe_bw_cycle_phase(sk, bbr, rs);
	bbr3_update_min_rtt(sk, bbr, rs);
	bbr3_check_probe_rtt(sk, bbr, rs);
	bbr3_advance_latest_delivery_signals(bbr, rs);
	bbr3_bound_bw_for_model(bbr);
}

/* UpdateOnACK() */
static CONG_CONTROL(bbr3_cong_control, sk, linux_rs)
{
	struct bbr3 *bbr = bbr3_of(sk);
	struct bbr3_sample rs;

	/* The ACK of the SYN precedes bbr3_init(). */
	if (!bbr)
		return;
	rs = sample_of(tcp_sk(sk), linux_rs);
	bbr3_note_marks(sk, bbr, &rs);
	update_model_and_state(sk, bbr, &rs);
	bbr3_set_pacing_rate(sk, bbr, bbr3_pacing_gain_percent(bbr));
	bbr3_set_send_quantum(sk, bbr);
	bbr3_set_cwnd(sk, bbr, &rs);
}

/* ---- other events ----------------------------------------------------- */

/* HandleRestartFromIdle() ("Restarting From Idle") */
static void bbr3_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *bbr = bbr3_of(sk);

	if (!bbr || event != CA_EVENT_TX_START || !tp->app_limited)
		return;
	bbr->idle_restart = true;
	bbr->extra_acked_interval_start_us = tp->tcp_mstamp;
	bbr->extra_acked_delivered = 0;
	if (bbr3_in_probe_bw(bbr))
		bbr3_set_pacing_rate(sk, bbr, 100);
	else if (bbr->phase == BBR3_PROBE_RTT)
		bbr3_check_probe_rtt_done(sk, bbr);
}
CCA_TX_START(bbr3_cwnd_event)

/*
 * OnEnterFastRecovery() and OnEnterRTO() ("Modulating cwnd in Loss Recovery"), after which Linux
 * sets the window
 */
static u32 bbr3_ssthresh(struct sock *sk)
{
	struct bbr3 *bbr = bbr3_of(sk);

	if (bbr)
		bbr3_save_cwnd(sk, bbr);
	return tcp_sk(sk)->snd_ssthresh;
}

static void bbr3_set_state(struct sock *sk, u8 new_state)
{
	const u8 old_state = inet_csk(sk)->icsk_ca_state;
	struct bbr3 *bbr = bbr3_of(sk);

	if (!bbr)
		return;
	if (new_state >= TCP_CA_CWR) {
		if (old_state < TCP_CA_CWR)
			bbr->recovery_delivered = tcp_sk(sk)->delivered;
		if (new_state == TCP_CA_CWR)
			bbr3_note_congestion(sk, bbr);
		return;
	}
	if (old_state >= TCP_CA_Recovery)
		bbr3_restore_cwnd(sk, bbr);
	bbr->is_saved = false;
}

static u32 bbr3_undo_cwnd(struct sock *sk)
{
	struct bbr3 *bbr = bbr3_of(sk);

	if (bbr)
		bbr3_handle_spurious_loss_detection(sk, bbr);
	return tcp_snd_cwnd(tcp_sk(sk));
}

static u32 bbr3_min_tso_segs(struct sock *sk)
{
	const struct bbr3 *bbr = bbr3_of(sk);

	/* The MSS may have grown since the last ACK. */
	return bbr ? max(bbr->send_quantum / tcp_sk(sk)->mss_cache, 1U) : 1;
}

static u32 bbr3_sndbuf_expand(struct sock *sk)
{
	return SEND_BUFFER_WINDOWS;
}

/* ---- registration ----------------------------------------------------- */

static struct tcp_congestion_ops bbr3_without_memory __read_mostly = {
	.name		= "bbr3",
	.owner		= THIS_MODULE,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

/* OnInit() */
static struct bbr3 *begin(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *bbr = kzalloc(sizeof(*bbr), GFP_ATOMIC | __GFP_NOWARN);

	if (!bbr)
		return NULL;
	bbr->min_rtt_us = tp->srtt_us ? tp->srtt_us >> 3 : BBR3_INFINITE;
	bbr->min_rtt_stamp_us = tp->tcp_mstamp;
	bbr->probe_rtt_min_delay_us = bbr->min_rtt_us;
	bbr->probe_rtt_min_stamp_us = tp->tcp_mstamp;
	bbr->extra_acked_interval_start_us = tp->tcp_mstamp;
	bbr->inflight_longterm = BBR3_INFINITE;
	bbr->probe_up_acked_per_inc = BBR3_INFINITE;
	bbr->undo_phase = BBR3_NO_PHASE;
	bbr->next_round_delivered = tp->delivered;
	bbr->loss_round_delivered = tp->delivered;
	bbr->delivered_ce = tp->delivered_ce;
	bbr->initial_cwnd = tcp_snd_cwnd(tp);
	bbr3_reset_short_term_model(bbr);
	bbr3_init_pacing_rate(sk);
	bbr3_set_send_quantum(sk, bbr);
	bbr3_enter_startup(bbr);
	return bbr;
}

static void bbr3_init(struct sock *sk)
{
	struct bbr3 *bbr = begin(sk);

	if (!bbr) {
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &bbr3_without_memory);
		return;
	}
	WRITE_ONCE(*(struct bbr3 **)inet_csk_ca(sk), bbr);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
}

static void bbr3_release(struct sock *sk)
{
	struct bbr3 *bbr = bbr3_of(sk);

	/* Readers of the state hold no lock. */
	WRITE_ONCE(*(struct bbr3 **)inet_csk_ca(sk), NULL);
	if (bbr)
		kfree_rcu(bbr, rcu);
}

static struct tcp_congestion_ops bbr3_ops __read_mostly = {
	.name		= "bbr3",
	.owner		= THIS_MODULE,
	.init		= bbr3_init,
	.release	= bbr3_release,
	.cong_control	= bbr3_cong_control,
	.packet_lost	= bbr3_packet_lost,
	CCA_EVENTS(bbr3_cwnd_event),
	.set_state	= bbr3_set_state,
	.ssthresh	= bbr3_ssthresh,
	.undo_cwnd	= bbr3_undo_cwnd,
	.min_tso_segs	= bbr3_min_tso_segs,
	.sndbuf_expand	= bbr3_sndbuf_expand,
	.get_info	= bbr3_get_info,
};

static int __init bbr3_register(void)
{
	BUILD_BUG_ON(sizeof(struct bbr3 *) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&bbr3_ops);
}

static void __exit bbr3_unregister(void)
{
	tcp_unregister_congestion_control(&bbr3_ops);
}

module_init(bbr3_register);
module_exit(bbr3_unregister);
MODULE_DESCRIPTION("BBR version 3 (draft-ietf-ccwg-bbr)");
MODULE_LICENSE("GPL");
