// SPDX-License-Identifier: GPL-2.0
/* Window of the TCP-competitive mode: CUBIC or NewReno. */
#include "competitive.h"

void nimbus_competitive_init(struct nimbus_competitive *c, enum nimbus_competitive_kind kind,
			     u32 packets)
{
	c->kind = kind;
	cubic_init(&c->w, packets);
}

void nimbus_competitive_grow(struct nimbus_competitive *c, u64 delivered, u64 cap, u32 now_ms,
			     u32 rtt_ms)
{
	struct cubic_window *w = &c->w;

	if (c->kind == NIMBUS_CUBIC) {
		cubic_grow(w, delivered, cap, now_ms, rtt_ms);
		return;
	}
	if (nimbus_competitive_in_slow_start(c))
		w->window += delivered;
	else
		w->window += mul_u64_u64_div_u64(delivered, CUBIC_PACKET, w->window);
	w->window = min(w->window, cap);
}

void nimbus_competitive_reduce(struct nimbus_competitive *c)
{
	struct cubic_window *w = &c->w;
	u64 half = max(w->window / 2, CUBIC_MIN_WINDOW);

	cubic_reduce(w);
	if (c->kind == NIMBUS_RENO) {
		w->window = half;
		w->ssthresh = half;
	}
}

void nimbus_competitive_timeout(struct nimbus_competitive *c)
{
	cubic_timeout(&c->w, false);
}

void nimbus_competitive_pause(struct nimbus_competitive *c, u32 ms, u32 now_ms)
{
	c->w.epoch_ms += min(ms, now_ms - c->w.epoch_ms);
}

void nimbus_competitive_undo(struct nimbus_competitive *c)
{
	cubic_undo(&c->w);
}

void nimbus_competitive_resume(struct nimbus_competitive *c, u64 window)
{
	window = max(window, CUBIC_MIN_WINDOW);
	c->w = (struct cubic_window) {
		.window = window,
		.ssthresh = window,
		.w_max = window,
	};
}
