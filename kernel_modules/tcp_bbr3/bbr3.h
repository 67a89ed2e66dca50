/* SPDX-License-Identifier: GPL-2.0 */
/* State of a flow, and the functions of each file. Names are those of the draft. */
#ifndef _TCP_BBR3_H
#define _TCP_BBR3_H

#include <linux/inet_diag.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#include <linux/win_minmax.h>
#include <net/tcp.h>

/* No bound; above every rate and volume. */
#define BBR3_INFINITE_BW	U64_MAX
#define BBR3_INFINITE		U32_MAX

enum bbr3_phase {
	BBR3_STARTUP,
	BBR3_DRAIN,
	BBR3_DOWN,		/* the four states of ProbeBW */
	BBR3_CRUISE,
	BBR3_REFILL,
	BBR3_UP,
	BBR3_PROBE_RTT,
	BBR3_NO_PHASE,		/* nothing to undo */
};

/* The meaning of the packets that are being acknowledged. */
enum bbr3_ack_phase {
	BBR3_ACKS_INIT,
	BBR3_ACKS_REFILLING,
	BBR3_ACKS_PROBE_STARTING,
	BBR3_ACKS_PROBE_FEEDBACK,
	BBR3_ACKS_PROBE_STOPPING,
};

/* Rates are in bytes of payload per second, volumes in packets, times in us. */
struct bbr3 {
	struct rcu_head rcu;
	enum bbr3_phase phase;
	enum bbr3_ack_phase ack_phase;

	/* rounds */
	u32	round_count;
	u32	next_round_delivered;
	bool	round_start;

	/* long-term model */
	u64	max_bw;
	u64	max_bw_of_cycle[2];	/* the previous and the current */
	u32	inflight_longterm;

	/* short-term model */
	u64	bw;
	u64	bw_shortterm;
	u64	bw_latest;
	u32	inflight_shortterm;
	u32	inflight_latest;
	u32	loss_round_delivered;
	bool	loss_round_start;
	bool	is_loss_in_round;

	/* full pipe; in Startup also losses */
	u64	full_bw;
	u8	full_bw_count;
	bool	full_bw_now;
	bool	full_bw_reached;
	u32	lost_ranges;		/* in this round */
	u32	lost_end_seq;		/* end of the last range */
	u32	recovery_delivered;	/* at the start of the recovery */
	u32	drain_start_round;

	/* ProbeBW */
	bool	is_bw_probe_sample;
	bool	prev_probe_too_high;
	bool	prev_probe_precautionary;
	u32	bw_probe_up_acked;
	u32	bw_probe_up_rounds;
	u32	probe_up_acked_per_inc;
	u32	rounds_since_probe_up;
	u32	bw_probe_wait_us;
	u64	cycle_stamp_us;

	/* RTT */
	u32	min_rtt_us;
	u64	min_rtt_stamp_us;
	u32	probe_rtt_min_delay_us;
	u64	probe_rtt_min_stamp_us;
	u64	probe_rtt_done_stamp_us;	/* 0: not yet */
	bool	probe_rtt_expired;
	bool	probe_rtt_round_done;
	bool	idle_restart;

	/* aggregation */
	struct minmax extra_acked_filter;
	u32	extra_acked;
	u32	extra_acked_delivered;
	u64	extra_acked_interval_start_us;

	/* recovery */
	u32	prior_cwnd;
	u32	delivered_ce;
	bool	is_saved;		/* the state before this recovery */
	enum bbr3_phase undo_phase;
	u64	undo_bw_shortterm;
	u32	undo_inflight_shortterm;
	u32	undo_inflight_longterm;

	u32	send_quantum;		/* bytes */
	u32	initial_cwnd;
};

/* RS: what an ACK, or a loss, says about a packet. */
struct bbr3_sample {
	bool	has_data;	/* newly acknowledges some */
	bool	is_app_limited;
	u64	delivery_rate;	/* 0: none */
	u32	delivered;
	u32	prior_delivered;
	u32	newly_acked;
	u32	lost;		/* since the packet was sent, including those marked CE */
	u32	tx_in_flight;	/* when the packet was sent, including it */
	long	rtt_us;		/* negative: none */
};

static inline struct bbr3 *bbr3_of(const struct sock *sk)
{
	return READ_ONCE(*(struct bbr3 **)inet_csk_ca(sk));
}

static inline bool bbr3_in_probe_bw(const struct bbr3 *bbr)
{
	return bbr->phase >= BBR3_DOWN && bbr->phase <= BBR3_UP;
}

/* ---- settings.c: the draft's constants, in the units of their names ---- */

extern unsigned int bbr3_startup_pacing_gain_percent;
extern unsigned int bbr3_drain_pacing_gain_percent;
extern unsigned int bbr3_down_pacing_gain_percent;
extern unsigned int bbr3_up_pacing_gain_percent;
extern unsigned int bbr3_cwnd_gain_percent;
extern unsigned int bbr3_up_cwnd_gain_percent;
extern unsigned int bbr3_probe_rtt_cwnd_gain_percent;
extern unsigned int bbr3_pacing_margin_percent;
extern unsigned int bbr3_loss_thresh_permille;
extern unsigned int bbr3_beta_percent;
extern unsigned int bbr3_headroom_percent;
extern unsigned int bbr3_full_loss_count;
extern unsigned int bbr3_min_rtt_filter_ms;
extern unsigned int bbr3_probe_rtt_interval_ms;
extern unsigned int bbr3_probe_rtt_duration_ms;
extern unsigned int bbr3_bw_probe_wait_ms;
extern unsigned int bbr3_bw_probe_wait_random_ms;
extern unsigned int bbr3_bw_probe_max_rounds;

/* ---- model.c ---- */

void bbr3_start_round(const struct sock *sk, struct bbr3 *bbr);
void bbr3_update_latest_delivery_signals(const struct sock *sk, struct bbr3 *bbr,
					 const struct bbr3_sample *rs);
void bbr3_advance_latest_delivery_signals(struct bbr3 *bbr, const struct bbr3_sample *rs);
void bbr3_update_congestion_signals(const struct sock *sk, struct bbr3 *bbr,
				    const struct bbr3_sample *rs);
void bbr3_reset_congestion_signals(struct bbr3 *bbr);
void bbr3_reset_short_term_model(struct bbr3 *bbr);
void bbr3_bound_bw_for_model(struct bbr3 *bbr);
void bbr3_advance_max_bw_filter(struct bbr3 *bbr);
void bbr3_update_ack_aggregation(const struct sock *sk, struct bbr3 *bbr,
				 const struct bbr3_sample *rs);

/* ---- phases.c ---- */

void bbr3_enter_startup(struct bbr3 *bbr);
void bbr3_reset_full_bw(struct bbr3 *bbr);
void bbr3_enter_drain(struct bbr3 *bbr);
void bbr3_start_probe_bw_down(const struct sock *sk, struct bbr3 *bbr);
void bbr3_start_probe_bw_cruise(struct bbr3 *bbr);
void bbr3_start_probe_bw_refill(const struct sock *sk, struct bbr3 *bbr);

/* ---- startup.c ---- */

void bbr3_check_full_bw_reached(struct bbr3 *bbr, const struct bbr3_sample *rs);
void bbr3_check_startup_done(const struct sock *sk, struct bbr3 *bbr,
			     const struct bbr3_sample *rs);
void bbr3_check_drain_done(const struct sock *sk, struct bbr3 *bbr);

/* ---- probe_bw.c ---- */

void bbr3_update_probe_bw_cycle_phase(const struct sock *sk, struct bbr3 *bbr,
				      const struct bbr3_sample *rs);

/* ---- probe_rtt.c ---- */

void bbr3_update_min_rtt(const struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs);
void bbr3_check_probe_rtt(struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs);
void bbr3_check_probe_rtt_done(struct sock *sk, struct bbr3 *bbr);

/* ---- loss.c ---- */

void bbr3_note_congestion(const struct sock *sk, struct bbr3 *bbr);
bool bbr3_is_inflight_too_high(const struct sock *sk, const struct bbr3_sample *rs);
void bbr3_packet_lost(struct sock *sk, const struct sk_buff *skb);
/* Marks that an ACK reports are congestion as losses are. */
void bbr3_note_marks(const struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs);
void bbr3_save_cwnd(const struct sock *sk, struct bbr3 *bbr);
void bbr3_restore_cwnd(struct sock *sk, const struct bbr3 *bbr);
void bbr3_handle_spurious_loss_detection(struct sock *sk, struct bbr3 *bbr);

/* ---- control.c ---- */

u32 bbr3_pacing_gain_percent(const struct bbr3 *bbr);
u32 bbr3_cwnd_gain(const struct bbr3 *bbr);
/* A multiple of the product of a rate and the RTT, in packets. */
u32 bbr3_bdp_multiple(const struct sock *sk, const struct bbr3 *bbr, u64 bw, u32 gain_percent);
u32 bbr3_inflight(const struct sock *sk, const struct bbr3 *bbr, u64 bw);
u32 bbr3_inflight_with_headroom(const struct bbr3 *bbr);
u32 bbr3_target_inflight(const struct sock *sk, const struct bbr3 *bbr);
u32 bbr3_probe_rtt_cwnd(const struct sock *sk, const struct bbr3 *bbr);
void bbr3_init_pacing_rate(struct sock *sk);
void bbr3_set_pacing_rate(struct sock *sk, const struct bbr3 *bbr, u32 gain_percent);
void bbr3_set_send_quantum(const struct sock *sk, struct bbr3 *bbr);
void bbr3_set_cwnd(struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs);

/* ---- info.c ---- */

size_t bbr3_get_info(struct sock *sk, u32 extensions, int *attribute, union tcp_cc_info *info);

#endif /* _TCP_BBR3_H */
