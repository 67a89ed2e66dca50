/* SPDX-License-Identifier: GPL-2.0 */
/* Window of the TCP-competitive mode. */
#ifndef _TCP_NIMBUS_COMPETITIVE_H
#define _TCP_NIMBUS_COMPETITIVE_H

#include "cubic_window.h"

enum nimbus_competitive_kind {
	NIMBUS_CUBIC,
	NIMBUS_RENO,
};

struct nimbus_competitive {
	enum nimbus_competitive_kind kind;
	struct cubic_window w;		/* NewReno uses a part of it */
};

void nimbus_competitive_init(struct nimbus_competitive *c, enum nimbus_competitive_kind kind,
			     u32 packets);
/* Grows by delivered packets in units of 2^-16, up to `cap`. */
void nimbus_competitive_grow(struct nimbus_competitive *c, u64 delivered, u64 cap, u32 now_ms,
			     u32 rtt_ms);
void nimbus_competitive_reduce(struct nimbus_competitive *c);
/* Retransmission timeout, after the reduction. */
void nimbus_competitive_timeout(struct nimbus_competitive *c);
/* Excludes an idle time. */
void nimbus_competitive_pause(struct nimbus_competitive *c, u32 ms, u32 now_ms);
void nimbus_competitive_undo(struct nimbus_competitive *c);
/* Starts at the window of another mode, without slow start. */
void nimbus_competitive_resume(struct nimbus_competitive *c, u64 window);

static inline bool nimbus_competitive_in_slow_start(const struct nimbus_competitive *c)
{
	return c->w.window < c->w.ssthresh;
}

#endif /* _TCP_NIMBUS_COMPETITIVE_H */
