/* SPDX-License-Identifier: GPL-2.0 */
/* The rates at which the same packets were sent and acknowledged, S and R (2). */
#ifndef _TCP_NIMBUS_RATES_H
#define _TCP_NIMBUS_RATES_H

#include <linux/types.h>

/* Records with a minimum distance, so that they cover half a second. */
#define NIMBUS_RECORDS		512
#define NIMBUS_RECORD_US	1000
#define NIMBUS_MOST_WINDOW_US	500000

/* State at an ACK. Times are modulo 2^32. */
struct nimbus_record {
	u32	sent_us;	/* send time of the latest delivered packet */
	u32	acked_us;
	u32	bytes;		/* delivered, on the wire, modulo 2^32 */
};

struct nimbus_rates {
	u32	count;		/* of all records so far */
	u32	first;		/* index of the start of the window */
	u32	bytes;		/* delivered, modulo 2^32 */
	u32	send;		/* S, bytes per second */
	u32	receive;	/* R */
	bool	valid;		/* the rates have been measured */
	bool	whole;		/* records cover at least half of the window */
	struct nimbus_record span;	/* differences over the window */
	struct nimbus_record latest;
	struct nimbus_record records[NIMBUS_RECORDS];
};

/* Processes an ACK of `bytes`, the latest of which left at `sent_us`. */
void nimbus_rates_ack(struct nimbus_rates *rates, u32 bytes, u32 sent_us, u32 now_us,
		      u32 window_us);
/* Rate of the cross traffic (1) on a link of `link` bytes per second. */
s64 nimbus_rates_cross(const struct nimbus_rates *rates, u32 link);

#endif /* _TCP_NIMBUS_RATES_H */
