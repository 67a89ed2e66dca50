// SPDX-License-Identifier: GPL-2.0
/* r_avg, represented by the gap between packets, and the window derived from it. */
#include "packet_bytes.h"
#include "rapid.h"
#include "settings.h"

#define RAPID_LEAST_GAP		(100ULL << RAPID_GAP_BITS)
#define RAPID_SPARE_CWND	64

u64 rapid_gap_of_kbps(const struct tcp_sock *tp, u32 kbps)
{
	u64 bit_us = (u64)packet_bytes(tp) * BITS_PER_BYTE * USEC_PER_SEC;

	return div_u64(bit_us << RAPID_GAP_BITS, kbps);
}

void rapid_set_gap(struct sock *sk, struct rapid *rapid, u64 gap)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate;

	gap = clamp_t(u64, gap, RAPID_LEAST_GAP,
		      max_t(u64, rapid_gap_of_kbps(tp, READ_ONCE(rapid_settings.min_kbps)), RAPID_LEAST_GAP));
	rate = div64_u64((u64)tp->mss_cache * NSEC_PER_SEC << RAPID_GAP_BITS, gap);
	if (rate > READ_ONCE(sk->sk_max_pacing_rate)) {
		rate = max_t(u64, READ_ONCE(sk->sk_max_pacing_rate), 1);
		gap = div64_u64((u64)tp->mss_cache * NSEC_PER_SEC << RAPID_GAP_BITS, rate);
	}
	rapid->gap = gap;
	WRITE_ONCE(sk->sk_pacing_rate, rate);
}

void rapid_set_cwnd(struct tcp_sock *tp, const struct rapid *rapid)
{
	u64 flight = div64_u64((u64)(tp->srtt_us >> 3) * NSEC_PER_USEC << RAPID_GAP_BITS,
			       rapid->gap);

	tcp_snd_cwnd_set(tp, min_t(u64, 2 * flight + RAPID_SPARE_CWND, tp->snd_cwnd_clamp));
}
