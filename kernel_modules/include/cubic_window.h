/* SPDX-License-Identifier: GPL-2.0 */
/*
 * CUBIC's window (RFC 9438) in integers, for senders with several windows: slow start, then
 * the maximum of the cubic function of the time since the last reduction and Reno's estimate.
 * HyStart is not included.
 */
#ifndef _CUBIC_WINDOW_H
#define _CUBIC_WINDOW_H

#include <linux/bits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

/* Windows are in units of 2^-16 packets. */
#define CUBIC_SHIFT		16
#define CUBIC_PACKET		BIT_ULL(CUBIC_SHIFT)

/* Multiplicative decrease: 0.7. */
#define CUBIC_BETA(window)	((window) * 7 / 10)
/* Fast convergence: a lower maximum for a flow that did not reach the last one. */
#define CUBIC_BETA_FAST(window)	((window) * 17 / 20)
/* Reno's increase for that decrease: 3 (1 - beta) / (1 + beta) = 9/17. */
#define CUBIC_ALPHA(packets)	((packets) * 9 / 17)
/* C = 0.4 packets per s^3 is one packet per 2.5e9 ms^3. */
#define CUBIC_MS3_PER_PACKET	2500000000ULL
/* The cube of a longer time in ms would overflow. */
#define CUBIC_MAX_MS		(1U << 21)
#define CUBIC_MIN_WINDOW	(2 * CUBIC_PACKET)
#define CUBIC_LARGEST		BIT_ULL(46)

struct cubic_window {
	u64 window;
	u64 ssthresh;
	u64 w_max;		/* window at the last reduction */
	u64 w_est;		/* estimate of Reno since then */
	u64 undo_window;	/* before the last reduction */
	u64 undo_ssthresh;
	u32 epoch_ms;		/* start of growth after the last reduction */
	u32 k_ms;		/* time until the window is w_max again */
	bool growing;		/* epoch_ms and k_ms are set */
};

/* Integer part of the cube root, bit by bit. */
static inline u32 cubic_root(u64 x)
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

/* W_cubic at a time after the epoch. */
static inline u64 cubic_at(const struct cubic_window *c, u32 ms)
{
	u64 distance_ms = min(ms > c->k_ms ? ms - c->k_ms : c->k_ms - ms, CUBIC_MAX_MS);
	u64 offset = mul_u64_u64_div_u64(distance_ms * distance_ms * distance_ms,
					 CUBIC_PACKET, CUBIC_MS3_PER_PACKET);

	if (ms > c->k_ms)
		return c->w_max + offset;
	return c->w_max > offset ? c->w_max - offset : 0;
}

static inline void cubic_start_epoch(struct cubic_window *c, u32 now_ms)
{
	u64 missing = c->w_max > c->window ? c->w_max - c->window : 0;

	c->w_max = max(c->w_max, c->window);
	c->k_ms = cubic_root(mul_u64_u64_div_u64(missing, CUBIC_MS3_PER_PACKET, CUBIC_PACKET));
	c->w_est = c->window;
	c->epoch_ms = now_ms;
	c->growing = true;
}

static inline void cubic_grow_by_time(struct cubic_window *c, u64 delivered, u32 now_ms, u32 rtt_ms)
{
	u64 target;

	if (!c->growing)
		cubic_start_epoch(c, now_ms);
	/* From w_max, alpha is 1. */
	c->w_est += mul_u64_u64_div_u64(c->w_est < c->w_max ? CUBIC_ALPHA(delivered) : delivered,
					CUBIC_PACKET, c->w_est);
	/* Target in one RTT, at most half above the window. */
	target = min(cubic_at(c, now_ms - c->epoch_ms + rtt_ms), c->window * 3 / 2);
	if (target > c->window)
		c->window += mul_u64_u64_div_u64(target - c->window, delivered, c->window);
	c->window = max(c->window, c->w_est);
}

/* Grows by delivered packets in units of 2^-16, up to `cap`. */
static inline void cubic_grow(struct cubic_window *c, u64 delivered, u64 cap, u32 now_ms,
			      u32 rtt_ms)
{
	if (c->window < c->ssthresh)
		c->window += delivered;
	else
		cubic_grow_by_time(c, delivered, now_ms, rtt_ms);
	c->window = min(c->window, cap);
	c->w_est = min(c->w_est, cap);
}

/* Reduces the window after lost or marked packets, once per window of data. */
static inline void cubic_reduce(struct cubic_window *c)
{
	c->undo_window = c->window;
	c->undo_ssthresh = c->ssthresh;
	c->w_max = c->window < c->w_max ? CUBIC_BETA_FAST(c->window) : c->window;
	c->ssthresh = max(CUBIC_BETA(c->window), CUBIC_MIN_WINDOW);
	c->window = c->ssthresh;
	c->growing = false;
}

/* Retransmission timeout; earlier losses may already have reduced the window. */
static inline void cubic_timeout(struct cubic_window *c, bool reduce)
{
	if (reduce)
		cubic_reduce(c);
	c->window = CUBIC_PACKET;
	c->growing = false;
}

/* Reverts a spurious reduction. */
static inline void cubic_undo(struct cubic_window *c)
{
	c->window = max(c->window, c->undo_window);
	c->ssthresh = max(c->ssthresh, c->undo_ssthresh);
	c->growing = false;
}

static inline void cubic_init(struct cubic_window *c, u32 packets)
{
	*c = (struct cubic_window) {
		.window = packets * CUBIC_PACKET,
		.ssthresh = CUBIC_LARGEST,
	};
}

#endif /* _CUBIC_WINDOW_H */
