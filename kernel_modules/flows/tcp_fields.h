/* SPDX-License-Identifier: GPL-2.0 */
/* Fields of sockets that belong to TCP, and not to a congestion control. */
#ifndef _CCBENCH_TCP_FIELDS_H
#define _CCBENCH_TCP_FIELDS_H

/* Of struct tcp_sock: all that decide what is sent or measured. */
#define TCP_FIELDS(field) \
	field(snd_una) field(snd_nxt) field(snd_sml) field(snd_up) field(snd_wl1) \
	field(write_seq) field(pushed_seq) field(rcv_nxt) field(copied_seq) \
	field(snd_wnd) field(max_window) field(window_clamp) field(rcv_ssthresh) \
	field(packets_out) field(max_packets_out) field(cwnd_usage_seq) field(sacked_out) \
	field(lost_out) field(retrans_out) field(lost) field(delivered) field(delivered_ce) \
	field(bytes_acked) field(bytes_sent) field(bytes_received) field(bytes_retrans) \
	field(segs_in) field(data_segs_in) field(data_segs_out) field(total_retrans) \
	field(undo_marker) field(undo_retrans) field(retrans_stamp) field(high_seq) \
	field(tlp_high_seq) field(prior_ssthresh) field(prr_out) \
	field(highest_sack) field(retransmit_skb_hint) field(tsorted_sent_queue) \
	field(rack) field(reordering) field(reord_seen) field(dsack_dups) \
	field(srtt_us) field(mdev_us) field(mdev_max_us) field(rttvar_us) field(rtt_seq) \
	field(rtt_min) field(first_tx_mstamp) field(delivered_mstamp) field(rate_delivered) \
	field(rate_interval_us) field(lsndtime) field(mss_cache) field(advmss) \
	field(tcp_header_len) field(notsent_lowat)

/* Of struct inet_connection_sock; one is bits. */
#define CONNECTION_BITS(field)	field(icsk_ca_state)
#define CONNECTION_FIELDS(field) \
	field(icsk_retransmits) field(icsk_backoff) field(icsk_rto) field(icsk_rto_min) \
	field(icsk_delack_max) field(icsk_user_timeout) field(icsk_pmtu_cookie)

/* Of struct sock; some are the application's. */
#define SOCKET_FIELDS(field) \
	field(sk_sndbuf) field(sk_rcvbuf) field(sk_wmem_queued) field(sk_mark) \
	field(sk_err) field(sk_shutdown)

/*
 * What a congestion control sets: names for messages only. Linux leaves prr_delivered to those with
 * cong_control (include/recovery.h).
 */
#define SET_FIELDS(field) \
	field(snd_cwnd) field(snd_ssthresh) field(snd_cwnd_cnt) field(snd_cwnd_clamp) \
	field(snd_cwnd_used) field(snd_cwnd_stamp) field(app_limited) field(tcp_wstamp_ns) \
	field(ecn_flags) field(prr_delivered)
#define SET_SOCKET_FIELDS(field) \
	field(sk_pacing_rate) field(sk_pacing_status) field(sk_pacing_shift) \
	field(sk_gso_max_segs) field(sk_txhash)

#endif /* _CCBENCH_TCP_FIELDS_H */
