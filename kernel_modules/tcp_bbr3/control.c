// SPDX-License-Identifier: GPL-2.0
/* Pacing rate, quantum and window ("Updating Control Parameters"). */
#include <linux/math64.h>

#include "bbr3.h"

#define MIN_PIPE_CWND	4
#define MIN_QUANTUM	2			/* packets */
#define MAX_QUANTUM	(64 * 1024)	/* bytes */
/* Quanta in flight at full throughput, for TCP. */
#define OFFLOAD_QUANTA	3
/* Packets added in ProbeBW_UP. */
#define UP_PACKETS	2

/* ---- gains ("Summary of Control Behavior in the State Machine") -------- */

u32 bbr3_pacing_gain_percent(const struct bbr3 *bbr)
{
	switch (bbr->phase) {
	case BBR3_STARTUP:
		return bbr3_startup_pacing_gain_percent;
	case BBR3_DRAIN:
		return bbr3_drain_pacing_gain_percent;
	case BBR3_DOWN:
		return bbr3_down_pacing_gain_percent;
	case BBR3_UP:
		return bbr3_up_pacing_gain_percent;
	default:
		return 100;
	}
}

u32 bbr3_cwnd_gain(const struct bbr3 *bbr)
{
	switch (bbr->phase) {
	case BBR3_UP:
		return bbr3_up_cwnd_gain_percent;
	case BBR3_PROBE_RTT:
		return bbr3_probe_rtt_cwnd_gain_percent;
	default:
		return bbr3_cwnd_gain_percent;
	}
}

/* ---- volumes ("Computing BBR.max_inflight") --------------------------- */

/* BDPMultiple() */
u32 bbr3_bdp_multiple(const struct sock *sk, const struct bbr3 *bbr, u64 bw, u32 gain_percent)
{
	u64 bytes;

	if (bbr->min_rtt_us == BBR3_INFINITE)
		return bbr->initial_cwnd;
	bytes = mul_u64_u64_div_u64(bw, bbr->min_rtt_us, USEC_PER_SEC);
	return min_t(u64, DIV_ROUND_UP_ULL(bytes * gain_percent, 100 * tcp_sk(sk)->mss_cache),
		     BBR3_INFINITE / 2);
}

/* QuantizationBudget(), and UpdateOffloadBudget() ("TCP Offload Budget") */
static u32 quantization_budget(const struct sock *sk, const struct bbr3 *bbr, u32 inflight_cap)
{
	u32 offload_budget = DIV_ROUND_UP(OFFLOAD_QUANTA * bbr->send_quantum,
					  tcp_sk(sk)->mss_cache);

	inflight_cap = max3(inflight_cap, offload_budget, (u32)MIN_PIPE_CWND);
	return bbr->phase == BBR3_UP ? inflight_cap + UP_PACKETS : inflight_cap;
}

/* Inflight(1.0) */
u32 bbr3_inflight(const struct sock *sk, const struct bbr3 *bbr, u64 bw)
{
	return quantization_budget(sk, bbr, bbr3_bdp_multiple(sk, bbr, bw, 100));
}

/* UpdateMaxInflight() */
static u32 max_inflight(const struct sock *sk, const struct bbr3 *bbr)
{
	u32 bdp = bbr3_bdp_multiple(sk, bbr, bbr->bw, bbr3_cwnd_gain(bbr));

	return quantization_budget(sk, bbr, bdp + bbr->extra_acked);
}

/* InflightWithHeadroom() ("ProbeBW Algorithm Details") */
u32 bbr3_inflight_with_headroom(const struct bbr3 *bbr)
{
	u32 headroom;

	if (bbr->inflight_longterm == BBR3_INFINITE)
		return BBR3_INFINITE;
	headroom = max_t(u32, (u64)bbr->inflight_longterm * bbr3_headroom_percent / 100, 1);
	if (bbr->inflight_longterm < headroom + MIN_PIPE_CWND)
		return MIN_PIPE_CWND;
	return bbr->inflight_longterm - headroom;
}

/* TargetInflight() ("Design Considerations for Choosing Constant Parameters") */
u32 bbr3_target_inflight(const struct sock *sk, const struct bbr3 *bbr)
{
	return min(bbr3_bdp_multiple(sk, bbr, bbr->bw, 100), tcp_snd_cwnd(tcp_sk(sk)));
}

/* ProbeRTTCwnd() ("Modulating cwnd in ProbeRTT") */
u32 bbr3_probe_rtt_cwnd(const struct sock *sk, const struct bbr3 *bbr)
{
	u32 cwnd = bbr3_bdp_multiple(sk, bbr, bbr->bw, bbr3_probe_rtt_cwnd_gain_percent);

	return max_t(u32, cwnd, MIN_PIPE_CWND);
}

/* ---- pacing ("Pacing Rate: C.pacing_rate") ---------------------------- */

/*
 * At least one packet per second: Linux does not bring forward the next packet when the rate
 * rises.
 */
static void pace(struct sock *sk, u64 bytes_per_s)
{
	bytes_per_s = max_t(u64, bytes_per_s, tcp_sk(sk)->mss_cache);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, bytes_per_s, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* InitPacingRate() */
void bbr3_init_pacing_rate(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = max(tp->srtt_us ? tp->srtt_us >> 3 : (u32)USEC_PER_MSEC, 1U);
	u64 bytes = (u64)tcp_snd_cwnd(tp) * tp->mss_cache;

	pace(sk, div_u64(bytes * USEC_PER_SEC / 100 * bbr3_startup_pacing_gain_percent, rtt_us));
}

/* SetPacingRateWithGain() */
void bbr3_set_pacing_rate(struct sock *sk, const struct bbr3 *bbr, u32 gain_percent)
{
	u64 rate = div_u64(bbr->bw * gain_percent * (100 - bbr3_pacing_margin_percent), 100 * 100);

	if (bbr->full_bw_reached || rate > sk->sk_pacing_rate)
		pace(sk, rate);
}

/* ---- quantum ("Send Quantum: C.send_quantum") ------------------------- */

/* SetSendQuantum() */
void bbr3_set_send_quantum(const struct sock *sk, struct bbr3 *bbr)
{
	u64 bytes = min_t(u64, sk->sk_pacing_rate / MSEC_PER_SEC, MAX_QUANTUM);

	bbr->send_quantum = max_t(u32, bytes, MIN_QUANTUM * tcp_sk(sk)->mss_cache);
}

/* ---- window ("cwnd Adjustment Mechanism") ----------------------------- */

/* BoundCwndForModel() ("Bounding cwnd Based on Recent Congestion") */
static u32 bound_cwnd_for_model(const struct bbr3 *bbr, u32 cwnd)
{
	u32 cap = BBR3_INFINITE;

	if (bbr->phase == BBR3_CRUISE || bbr->phase == BBR3_PROBE_RTT)
		cap = bbr3_inflight_with_headroom(bbr);
	else if (bbr3_in_probe_bw(bbr))
		cap = bbr->inflight_longterm;
	cap = min(cap, bbr->inflight_shortterm);
	return min(cwnd, max_t(u32, cap, MIN_PIPE_CWND));
}

/* SetCwnd(), and BoundCwndForProbeRTT() ("Modulating cwnd in ProbeRTT") */
void bbr3_set_cwnd(struct sock *sk, struct bbr3 *bbr, const struct bbr3_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 most = max_inflight(sk, bbr);

	if (bbr->full_bw_reached)
		cwnd = min(cwnd + rs->newly_acked, most);
	else if (cwnd < most || tp->delivered < bbr->initial_cwnd)
		cwnd += rs->newly_acked;
	cwnd = max_t(u32, cwnd, MIN_PIPE_CWND);
	if (bbr->phase == BBR3_PROBE_RTT)
		cwnd = min(cwnd, bbr3_probe_rtt_cwnd(sk, bbr));
	cwnd = bound_cwnd_for_model(bbr, cwnd);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}
