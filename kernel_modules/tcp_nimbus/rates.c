// SPDX-License-Identifier: GPL-2.0
/*
 * S and R over one window of packets (2), and the rate of the cross traffic (1).
 *
 * The window extends from the current ACK back to the earliest recorded one within the
 * window's length. Delayed ACKs do not matter, because both rates are measured between
 * received ACKs and count the packets in between. A retransmission has the send time of the
 * latest packet before it.
 *
 * With bytes B between two ACKs, S = B / ds and R = B / dr, (1) is (link * dr - B) / ds.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/time64.h>

#include "rates.h"

static struct nimbus_record *record(struct nimbus_rates *rates, u32 index)
{
	return &rates->records[index % NIMBUS_RECORDS];
}

static void store(struct nimbus_rates *rates)
{
	if (rates->count && rates->latest.acked_us -
	    record(rates, rates->count - 1)->acked_us < NIMBUS_RECORD_US)
		return;
	*record(rates, rates->count++) = rates->latest;
	if (rates->count - rates->first > NIMBUS_RECORDS)
		rates->first = rates->count - NIMBUS_RECORDS;
}

/* Adjusts the start to the current length of the window. */
static void find_first(struct nimbus_rates *rates, u32 window_us)
{
	u32 oldest = rates->count > NIMBUS_RECORDS ? rates->count - NIMBUS_RECORDS : 0;
	u32 now_us = rates->latest.acked_us;

	while (rates->first > oldest &&
	       now_us - record(rates, rates->first - 1)->acked_us <= window_us)
		rates->first--;
	while (rates->first + 1 < rates->count &&
	       now_us - record(rates, rates->first)->acked_us > window_us)
		rates->first++;
	/* After a pause, the records are more recent than the window. */
	rates->whole = rates->first > oldest &&
		       now_us - record(rates, rates->first)->acked_us > window_us / 2;
}

static u32 rate_of(u32 bytes, u32 us)
{
	return min_t(u64, div_u64((u64)bytes * USEC_PER_SEC, us), U32_MAX);
}

static void measure(struct nimbus_rates *rates)
{
	const struct nimbus_record *from = record(rates, rates->first);
	struct nimbus_record span = {
		.sent_us = rates->latest.sent_us - from->sent_us,
		.acked_us = rates->latest.acked_us - from->acked_us,
		.bytes = rates->latest.bytes - from->bytes,
	};

	if (!span.sent_us || !span.acked_us)
		return;
	rates->span = span;
	rates->send = rate_of(span.bytes, span.sent_us);
	rates->receive = rate_of(span.bytes, span.acked_us);
	rates->valid = true;
}

void nimbus_rates_ack(struct nimbus_rates *rates, u32 bytes, u32 sent_us, u32 now_us,
		      u32 window_us)
{
	rates->bytes += bytes;
	/* Skip late ACKs of earlier packets, and further ACKs of the same burst. */
	if (rates->count && (s32)(sent_us - rates->latest.sent_us) <= 0)
		return;
	rates->latest = (struct nimbus_record) {
		.sent_us = sent_us,
		.acked_us = now_us,
		.bytes = rates->bytes,
	};
	find_first(rates, min_t(u32, window_us, NIMBUS_MOST_WINDOW_US));
	if (rates->count)
		measure(rates);
	store(rates);
}

s64 nimbus_rates_cross(const struct nimbus_rates *rates, u32 link)
{
	s64 cross;

	if (!rates->valid)
		return 0;
	cross = (s64)link * rates->span.acked_us - (s64)rates->span.bytes * (s64)USEC_PER_SEC;
	/* Bursts of departures or arrivals do not measure a rate. */
	return clamp_t(s64, div_s64(cross, rates->span.sent_us), -(s64)link, 2LL * link);
}
