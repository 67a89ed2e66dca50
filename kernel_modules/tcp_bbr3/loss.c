// SPDX-License-Identifier: GPL-2.0
/*
 * Losses, marks, and recoveries that were spurious ("Updating the Model Upon Packet Loss",
 * "Updating the Model Upon Detecting a Spurious Loss Recovery").
 */
#include <linux/math64.h>

#include "bbr3.h"

/* ---- the window before a recovery ("Modulating cwnd in Loss Recovery") - */

/* SaveCwnd() */
void bbr3_save_cwnd(const struct sock *sk, struct bbr3 *bbr)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (inet_csk(sk)->icsk_ca_state < TCP_CA_Recovery && bbr->phase != BBR3_PROBE_RTT)
		bbr->prior_cwnd = cwnd;
	else
		bbr->prior_cwnd = max(bbr->prior_cwnd, cwnd);
}

/* RestoreCwnd() */
void bbr3_restore_cwnd(struct sock *sk, const struct bbr3 *bbr)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), bbr->prior_cwnd));
}

/* SaveStateUponLoss() ("Saving State Upon Loss Recovery"), once per recovery */
static void save_state_upon_loss(const struct sock *sk, struct bbr3 *bbr)
{
	if (bbr->is_saved)
		return;
	bbr3_save_cwnd(sk, bbr);
	bbr->is_saved = true;
	bbr->undo_phase = BBR3_NO_PHASE;
	bbr->undo_bw_shortterm = bbr->bw_shortterm;
	bbr->undo_inflight_shortterm = bbr->inflight_shortterm;
	bbr->undo_inflight_longterm = bbr->inflight_longterm;
}

/* ---- losses ("Probing for Bandwidth In ProbeBW") ----------------------- */

/* NoteLoss() without SaveStateUponLoss(): congestion that is never found to be spurious */
void bbr3_note_congestion(const struct sock *sk, struct bbr3 *bbr)
{
	if (!bbr->is_loss_in_round)
		bbr->loss_round_delivered = tcp_sk(sk)->delivered;
	bbr->is_loss_in_round = true;
}

/* IsInflightTooHigh() */
bool bbr3_is_inflight_too_high(const struct sock *sk, const struct bbr3_sample *rs)
{
	if (!tcp_is_sack(tcp_sk(sk)) && rs->lost)
		return true;
	return (u64)rs->lost * 1000 > (u64)rs->tx_in_flight * bbr3_loss_thresh_permille;
}

/* HandleInflightTooHigh() */
static void handle_inflight_too_high(const struct sock *sk, struct bbr3 *bbr,
				     const struct bbr3_sample *rs)
{
	u32 least = (u64)bbr3_target_inflight(sk, bbr) * bbr3_beta_percent / 100;

	bbr->prev_probe_too_high = true;
	bbr->is_bw_probe_sample = false;
	if (!rs->is_app_limited)
		bbr->inflight_longterm = max(rs->tx_in_flight, least);
	if (bbr->phase == BBR3_UP) {
		bbr->undo_phase = BBR3_UP;
		bbr3_start_probe_bw_down(sk, bbr);
	}
}

/* InflightAtLoss(): how much of a burst was in flight when the losses became too many */
static u32 inflight_at_loss(const struct bbr3_sample *rs, u32 size)
{
	s64 inflight_prev = (s64)rs->tx_in_flight - size;
	s64 lost_prev = (s64)rs->lost - size;
	s64 lost_prefix = div_s64(bbr3_loss_thresh_permille * inflight_prev - 1000 * lost_prev,
				  1000 - bbr3_loss_thresh_permille);

	return max_t(s64, inflight_prev + max_t(s64, lost_prefix, 0), 0);
}

static void count_lost_range(struct bbr3 *bbr, const struct tcp_skb_cb *packet)
{
	if (!bbr->lost_ranges || packet->seq != bbr->lost_end_seq)
		bbr->lost_ranges++;
	bbr->lost_end_seq = packet->end_seq;
}

/* HandleLostPacket() and NoteLoss() */
void bbr3_packet_lost(struct sock *sk, const struct sk_buff *skb)
{
	const struct tcp_skb_cb *packet = TCP_SKB_CB(skb);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *bbr = bbr3_of(sk);
	struct bbr3_sample rs = {
		.tx_in_flight = packet->sent_in_flight,
		.lost = tp->lost - packet->sent_lost +
			((tp->delivered_ce - packet->tx.delivered_ce) & TCPCB_DELIVERED_CE_MASK),
		.is_app_limited = packet->tx.is_app_limited,
	};

	if (!bbr)
		return;
	save_state_upon_loss(sk, bbr);
	bbr3_note_congestion(sk, bbr);
	count_lost_range(bbr, packet);
	if (!bbr->is_bw_probe_sample || !bbr3_is_inflight_too_high(sk, &rs))
		return;
	rs.tx_in_flight = inflight_at_loss(&rs, tcp_skb_pcount(skb));
	handle_inflight_too_high(sk, bbr, &rs);
}

/* ---- marks ("ECN") ---------------------------------------------------- */

void bbr3_note_marks(const struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 marked = tp->delivered_ce - bbr->delivered_ce;

	bbr->delivered_ce = tp->delivered_ce;
	if (!marked)
		return;
	bbr3_note_congestion(sk, bbr);
	bbr->lost_ranges += marked;
	if (bbr->is_bw_probe_sample && rs->has_data && bbr3_is_inflight_too_high(sk, rs))
		handle_inflight_too_high(sk, bbr, rs);
}

/* ---- undo ("Handling a Spurious Loss Recovery") ----------------------- */

/* HandleSpuriousLossDetection() */
void bbr3_handle_spurious_loss_detection(struct sock *sk, struct bbr3 *bbr)
{
	const enum bbr3_phase undo = bbr->undo_phase;

	bbr3_restore_cwnd(sk, bbr);
	bbr->is_saved = false;
	bbr->is_loss_in_round = false;
	bbr3_reset_full_bw(bbr);
	bbr->bw_shortterm = max(bbr->bw_shortterm, bbr->undo_bw_shortterm);
	bbr->inflight_shortterm = max(bbr->inflight_shortterm, bbr->undo_inflight_shortterm);
	bbr->inflight_longterm = max(bbr->inflight_longterm, bbr->undo_inflight_longterm);
	bbr->undo_phase = BBR3_NO_PHASE;
	if (undo == BBR3_STARTUP && bbr->phase != BBR3_STARTUP) {
		bbr->full_bw_reached = false;
		if (bbr->phase != BBR3_PROBE_RTT)
			bbr3_enter_startup(bbr);
	} else if (undo == BBR3_UP && bbr->phase != BBR3_UP && bbr->phase != BBR3_PROBE_RTT) {
		bbr3_start_probe_bw_refill(sk, bbr);
	}
}
