/* SPDX-License-Identifier: GPL-2.0 */
/* The rates at which the same packets were sent and acknowledged, S and R (2). */
#ifndef _TCP_NIMBUS_RATES_H
#define _TCP_NIMBUS_RATES_H

#include <linux/types.h>

/* At least so far apart, so that the records reach back for half a second. */
#define NIMBUS_RECORDS		512
#define NIMBUS_RECORD_US	1000
#define NIMBUS_MOST_WINDOW_US	500000

/* What was known when an ACK came. Times are modulo 2^32. */
struct nimbus_record {
	u32	sent_us;	/* when the latest packet left that is known to have arrived */
	u32	acked_us;
	u32	bytes;		/* that have arrived, on the wire, modulo 2^32 */
};

struct nimbus_rates {
	u32	count;		/* of records so far, runs on */
	u32	first;		/* the one where the window begins */
	u32	bytes;		/* that have arrived, modulo 2^32 */
	u32	send;		/* S, bytes per second */
	u32	receive;	/* R */
	bool	known;
	bool	whole;		/* the window is as long as was asked for, or half as long */
	struct nimbus_record span;	/* what has gone by within the window */
	struct nimbus_record latest;
	struct nimbus_record records[NIMBUS_RECORDS];
};

/* An ACK: so many bytes have arrived, the latest of which left at `sent_us`. */
void nimbus_rates_ack(struct nimbus_rates *rates, u32 bytes, u32 sent_us, u32 now_us,
		      u32 window_us);
/* The others' rate (1) for a link of `link` bytes per second. */
s64 nimbus_rates_cross(const struct nimbus_rates *rates, u32 link);

#endif /* _TCP_NIMBUS_RATES_H */
