// SPDX-License-Identifier: GPL-2.0
/*
 * Pacing rate, base + pulse, and congestion window. The window only limits a flow without
 * ACKs, and has room for the burst of a pulse.
 */
#include <net/tcp.h>

#include "nimbus.h"
#include "pulse.h"
#include "recovery.h"

#define MIN_CWND	4
/* Divisor of the lowest rate: a gap is fixed when the previous packet leaves, so it is limited. */
#define TROUGH		4

static s64 pulse_now(const struct nimbus *nimbus, u64 now_ns)
{
	u64 phase_ns;

	if (!nimbus->height || now_ns < nimbus->pulse_epoch_ns)
		return 0;
	div64_u64_rem(now_ns - nimbus->pulse_epoch_ns, nimbus->period_ns, &phase_ns);
	return nimbus_pulse(phase_ns, nimbus->period_ns, nimbus->height);
}

void nimbus_pace(struct sock *sk, const struct nimbus *nimbus)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	s64 rate = nimbus->role == NIMBUS_WATCHER ? nimbus->smooth : nimbus->base;
	s64 least = max(nimbus->base / TROUGH, nimbus->packet_bytes);

	if (nimbus_in_slow_start(nimbus))
		rate = 2ULL * nimbus->base;
	rate = max(rate + pulse_now(nimbus, tp->tcp_clock_cache), least);
	/* TCP paces payload bytes. */
	rate = div_u64((u64)rate * tp->mss_cache, nimbus->packet_bytes);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

void nimbus_limit_burst(struct sock *sk)
{
	/* A new route resets it. */
	if (sk->sk_gso_max_segs != NIMBUS_BURST)
		sk->sk_gso_max_segs = NIMBUS_BURST;
}

void nimbus_set_cwnd(struct sock *sk, const struct nimbus *nimbus, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 burst = nimbus_pulse_burst(nimbus->period_ns, nimbus->height) / nimbus->packet_bytes;
	u64 ssthresh = nimbus->competitive.w.ssthresh;
	u32 spare = 0;
	u64 window;

	if (nimbus_has_rate(nimbus)) {
		window = min(nimbus_window_of(nimbus, nimbus->base), nimbus_link_window(nimbus));
		window = window * 3 / 2;
		spare = burst;
	} else if (nimbus->role == NIMBUS_WATCHER) {
		window = nimbus_window_of(nimbus, nimbus->base) * 3 / 2;
	} else {
		window = nimbus_window(nimbus);
	}
	window = (window >> CUBIC_SHIFT) + burst;
	window = clamp_t(u64, window, MIN_CWND, tp->snd_cwnd_clamp);
	tcp_snd_cwnd_set(tp, recovery_window(sk, rs, window, spare));
	tp->snd_ssthresh = ssthresh < CUBIC_LARGEST ? ssthresh >> CUBIC_SHIFT :
						      TCP_INFINITE_SSTHRESH;
}
