/* SPDX-License-Identifier: GPL-2.0 */
/* The TCP-competitive mode's window. */
#ifndef _TCP_NIMBUS_COMPETITIVE_H
#define _TCP_NIMBUS_COMPETITIVE_H

#include "cubic_window.h"

enum nimbus_competitive_kind {
	NIMBUS_CUBIC,
	NIMBUS_RENO,
};

struct nimbus_competitive {
	enum nimbus_competitive_kind kind;
	struct cubic_window w;		/* NewReno uses some of it */
};

void nimbus_competitive_init(struct nimbus_competitive *c, enum nimbus_competitive_kind kind,
			     u32 packets);
/* Packets were delivered, in units of 2^-16; no more than `cap` is of use. */
void nimbus_competitive_grow(struct nimbus_competitive *c, u64 delivered, u64 cap, u32 now_ms,
			     u32 rtt_ms);
void nimbus_competitive_reduce(struct nimbus_competitive *c);
/* Nothing has come back for long; the window has been reduced already. */
void nimbus_competitive_timeout(struct nimbus_competitive *c);
/* Nothing was sent for so long. */
void nimbus_competitive_pause(struct nimbus_competitive *c, u32 ms, u32 now_ms);
void nimbus_competitive_undo(struct nimbus_competitive *c);
/* Goes on from a window of another making, without slow start. */
void nimbus_competitive_resume(struct nimbus_competitive *c, u64 window);

static inline bool nimbus_competitive_in_slow_start(const struct nimbus_competitive *c)
{
	return c->w.window < c->w.ssthresh;
}

#endif /* _TCP_NIMBUS_COMPETITIVE_H */
