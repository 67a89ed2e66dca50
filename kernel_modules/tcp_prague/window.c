// SPDX-License-Identifier: GPL-2.0
/* The window: growth, and reductions after marks and losses. main.c describes them. */
#include <linux/math64.h>
#include <linux/module.h>

#include "bounded_param.h"
#include "prague.h"

#define MAX_REFERENCE_RTT_US	100000
#define MAX_REDUCTION_ROUNDS	4
/* Reno's windows after a loss and after a timeout (RFC 5681). */
#define MIN_LOSS_WINDOW		(2 * PRAGUE_PACKET)
#define TIMEOUT_WINDOW		PRAGUE_PACKET

static unsigned int reference_rtt_us = 25000;
static unsigned int reduction_rounds = 2;

BOUNDED_PARAM(reference_rtt_us, reference_rtt_us, 0, MAX_REFERENCE_RTT_US, 0644,
	      "flows with a shorter RTT have the rate of this RTT, in us, 0: their own");
BOUNDED_PARAM(reduction_rounds, reduction_rounds, 1, MAX_REDUCTION_ROUNDS, 0644,
	      "rounds that the reduction after a mark covers at most, 1: as in the draft");

/* Returns true if the window grows as Reno's, by a packet per RTT. */
static bool grows_as_reno(const struct prague *prague)
{
	return prague->lossy || prague_classic_response(prague) == PRAGUE_CLASSIC_ONE;
}

/* The RTT whose rate the flow has. */
u32 prague_virtual_rtt_us(const struct sock *sk)
{
	u32 rtt_us = prague_rtt_us(tcp_sk(sk));

	if (grows_as_reno(prague_of(sk)))
		return rtt_us;
	return max(rtt_us, READ_ONCE(reference_rtt_us));
}

/* Growth per RTT, in units of 2^-16 packets: (RTT / virtual RTT)^2. */
static u64 growth(const struct sock *sk)
{
	const struct prague *prague = prague_of(sk);
	u64 ratio = div_u64((u64)prague_rtt_us(tcp_sk(sk)) << PRAGUE_SHIFT,
			    prague_virtual_rtt_us(sk));
	u64 packets = ratio * ratio >> PRAGUE_SHIFT;

	return packets + ((PRAGUE_PACKET - packets) * prague_classic_response(prague) >>
			  PRAGUE_CLASSIC_SHIFT);
}

/*
 * Grows by newly acknowledged packets without a mark, unless the window is unused: at most
 * to twice the packets in flight. A window below one packet at most doubles per packet.
 */
void prague_grow(struct sock *sk, u32 acked, u32 in_flight)
{
	struct prague *prague = prague_of(sk);
	u64 limit = 2ULL * max(in_flight, 1U) * PRAGUE_PACKET;
	u64 packets = acked * PRAGUE_PACKET;

	if (prague->window >= limit)
		return;
	if (prague_in_slow_start(prague)) {
		prague->window = min(prague->window + packets, prague->ssthresh);
	} else {
		u64 increase = mul_u64_u64_div_u64(packets, growth(sk), prague->window);

		prague->window += min(increase, acked * prague->window);
	}
	prague->window = min(prague->window, limit);
}

/*
 * The reduction for a mark: that of all rounds since the last reduction, as the average lasts
 * longer than the marks. Otherwise, rounds without a mark would not count (main.c).
 */
static u32 alpha_of_rounds(const struct prague *prague, u32 since_us, u32 round_us)
{
	u32 counted_us = min_t(u64, since_us, (u64)READ_ONCE(reduction_rounds) * round_us);
	u64 alpha = div_u64((u64)prague->alpha * max(counted_us, round_us), round_us);

	return min_t(u64, alpha, PRAGUE_ALPHA_ONE);
}

/* Reduces the window for a mark, at most once per virtual RTT, and ends slow start. */
void prague_reduce_for_mark(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *prague = prague_of(sk);
	u32 since_us = (u32)tp->tcp_mstamp - prague->reduced_us;
	u32 round_us = prague_virtual_rtt_us(sk);
	u32 classic = prague_classic_response(prague) << (PRAGUE_ALPHA_SHIFT - PRAGUE_CLASSIC_SHIFT);
	u32 alpha;

	if (!prague_in_slow_start(prague) && since_us < round_us)
		return;
	alpha = max(alpha_of_rounds(prague, since_us, round_us), classic);
	prague->ce_window = prague->window;
	prague->window -= mul_u64_u32_shr(prague->window, alpha, PRAGUE_ALPHA_SHIFT + 1);
	prague->window = max(prague->window, PRAGUE_MIN_WINDOW);
	prague->ssthresh = prague->window;
	prague->reduced_us = tp->tcp_mstamp;
	prague->reductions++;
}

/* Halves the window, including a reduction for a mark in the same round trip. */
void prague_reduce_for_loss(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *prague = prague_of(sk);
	u64 before = prague->window;

	if ((u32)tp->tcp_mstamp - prague->reduced_us < prague_rtt_us(tp))
		before = max(before, prague->ce_window);
	prague->undo_window = prague->window;
	prague->undo_ssthresh = prague->ssthresh;
	prague->ssthresh = max(before / 2, MIN_LOSS_WINDOW);
	prague->window = min(prague->window, prague->ssthresh);
	/* No further reduction of this round trip's window. */
	prague->ce_window = prague->window;
	prague->reduced_us = tp->tcp_mstamp;
	prague->lossy = 1;
}

void prague_timeout(struct sock *sk)
{
	struct prague *prague = prague_of(sk);

	prague->window = min(prague->window, TIMEOUT_WINDOW);
}

/* Reverts a reduction after a loss that was none. */
void prague_undo(struct sock *sk)
{
	struct prague *prague = prague_of(sk);

	prague->window = max(prague->window, prague->undo_window);
	prague->ssthresh = max(prague->ssthresh, prague->undo_ssthresh);
}
