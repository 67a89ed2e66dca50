// SPDX-License-Identifier: GPL-2.0
/*
 * The second window: what a bottleneck that is no ABC router has room for.
 *
 * It is CUBIC's (RFC 9438), in integers: slow start, then the cubic function of
 * the time since the last reduction, or Reno's estimate where that is more.
 * There is no HyStart; the sender's cap of twice the packets in flight stands
 * in its way wherever an ABC router is the bottleneck.
 */
#include <linux/math64.h>

#include "tcp_abc.h"

/* Multiplicative decrease: 0.7. */
#define BETA(window)		((window) * 7 / 10)
/* Fast convergence: a flow that did not reach its last maximum aims for less. */
#define BETA_FAST(window)	((window) * 17 / 20)
/* Reno's increase at that decrease: 3 (1 - beta) / (1 + beta) = 9/17. */
#define ALPHA(packets)		((packets) * 9 / 17)
/* C = 0.4 packets per s^3 is one packet per 2.5e9 ms^3. */
#define MS3_PER_PACKET		2500000000ULL
/* From here on the cube of a time in ms would not fit. */
#define MAX_MS			(1U << 21)
#define MIN_WINDOW		(2 * ABC_PACKET)
#define LARGEST			BIT_ULL(46)

/* The integer part of the cube root, one bit at a time. */
static u32 cube_root(u64 x)
{
	u32 root = 0;
	int bit;

	for (bit = 20; bit >= 0; bit--) {
		u64 candidate = root | 1U << bit;

		if (candidate * candidate * candidate <= x)
			root = candidate;
	}
	return root;
}

/* W_cubic at a time since the epoch. */
static u64 cubic_at(const struct abc_cubic *c, u32 ms)
{
	u64 distance_ms = min(ms > c->k_ms ? ms - c->k_ms : c->k_ms - ms, MAX_MS);
	u64 offset = mul_u64_u64_div_u64(distance_ms * distance_ms * distance_ms,
					 ABC_PACKET, MS3_PER_PACKET);

	if (ms > c->k_ms)
		return c->w_max + offset;
	return c->w_max > offset ? c->w_max - offset : 0;
}

static void start_epoch(struct abc_cubic *c, u32 now_ms)
{
	u64 missing = c->w_max > c->window ? c->w_max - c->window : 0;

	c->w_max = max(c->w_max, c->window);
	c->k_ms = cube_root(mul_u64_u64_div_u64(missing, MS3_PER_PACKET, ABC_PACKET));
	c->w_est = c->window;
	c->epoch_ms = now_ms;
	c->growing = true;
}

static void grow_by_time(struct abc_cubic *c, u64 delivered, u32 now_ms, u32 rtt_ms)
{
	u64 target;

	if (!c->growing)
		start_epoch(c, now_ms);
	/* From w_max on, Reno's increase is the usual one. */
	c->w_est += mul_u64_u64_div_u64(c->w_est < c->w_max ? ALPHA(delivered) : delivered,
					ABC_PACKET, c->w_est);
	/* Where it should be one RTT from now, but not faster than by half. */
	target = min(cubic_at(c, now_ms - c->epoch_ms + rtt_ms), c->window * 3 / 2);
	if (target > c->window)
		c->window += mul_u64_u64_div_u64(target - c->window, delivered, c->window);
	c->window = max(c->window, c->w_est);
}

void abc_cubic_grow(struct abc_cubic *c, u64 delivered, u64 cap, u32 now_ms, u32 rtt_ms)
{
	if (c->window < c->ssthresh)
		c->window += delivered;
	else
		grow_by_time(c, delivered, now_ms, rtt_ms);
	c->window = min(c->window, cap);
	c->w_est = min(c->w_est, cap);
}

/* Packets have been lost, or marked: once for each window of data. */
void abc_cubic_reduce(struct abc_cubic *c)
{
	c->undo_window = c->window;
	c->undo_ssthresh = c->ssthresh;
	c->w_max = c->window < c->w_max ? BETA_FAST(c->window) : c->window;
	c->ssthresh = max(BETA(c->window), MIN_WINDOW);
	c->window = c->ssthresh;
	c->growing = false;
}

/* Nothing has come back for long; packets lost before may have reduced it already. */
void abc_cubic_timeout(struct abc_cubic *c, bool reduce)
{
	if (reduce)
		abc_cubic_reduce(c);
	c->window = ABC_PACKET;
	c->growing = false;
}

/* It was a mistake: nothing was lost. */
void abc_cubic_undo(struct abc_cubic *c)
{
	c->window = max(c->window, c->undo_window);
	c->ssthresh = max(c->ssthresh, c->undo_ssthresh);
	c->growing = false;
}

void abc_cubic_init(struct abc_cubic *c, u32 packets)
{
	*c = (struct abc_cubic) {
		.window = packets * ABC_PACKET,
		.ssthresh = LARGEST,
	};
}
