// SPDX-License-Identifier: GPL-2.0
/*
 * A Wi-Fi link with frame aggregation of 802.11n: frames are sent in batches (A-MPDUs), each
 * to one station and acknowledged by a block ACK before the next batch. A batch takes the time
 * of its bits at the bitrate, and an overhead for channel access, preamble and ACK.
 *
 * With several stations, frames wait per station outside of the qdisc, as in a driver, and
 * stations are served in turn. Otherwise a batch could only contain adjacent packets of the
 * queue.
 *
 * From batches the link estimates its capacity with enough packets to send (ABC, section 5.1):
 * a batch of b frames that took the time T would have taken T + (M - b) S / R with M frames.
 */
#include <linux/math64.h>
#include <linux/slab.h>

#include "link.h"

#define MAX_STATIONS		256
#define MAX_FRAMES		256
/* Window of the estimate (T in the paper). */
#define WINDOW_NS		(40 * NSEC_PER_MSEC)
/* Maximum number of batches in the window; the oldest is removed. */
#define MAX_WINDOW_BATCHES	512

struct ccbench_log *batch_log;

struct batch {
	u64 acked_ns;
	u64 bits;		/* size */
	u64 full_bits;		/* size with M frames */
	u64 full_ns;		/* time with M frames */
};

struct wifi {
	u32 max_frames;
	u32 stations;
	u64 step_ns;
	u64 overhead_ns;	/* minimum */
	u64 overhead_range_ns;
	struct random_stream random;
	const u32 *bitrates_kbps;
	u32 bitrates;

	struct sk_buff_head *waiting;	/* of each station */
	u32 held;
	u32 next_station;

	/* Current batch. */
	struct sk_buff_head frames;
	u64 start_ns;
	u64 bitrate_bps;
	u32 bytes;
	u32 station;

	/* Batches in the window, a ring, and their sums. */
	struct batch window[MAX_WINDOW_BATCHES];
	u32 oldest;
	u32 batches;
	struct batch sum;
	u64 estimate_bps;	/* 0: no batch yet */
};

struct wifi *wifi_create(const struct ccbench_bottleneck *spec, const u32 *bitrates_kbps,
			 struct random_stream random)
{
	struct wifi *wifi;
	u32 i;

	if (!spec->wifi_stations || spec->wifi_stations > MAX_STATIONS ||
	    spec->wifi_frames > MAX_FRAMES || !spec->wifi_step_ns ||
	    spec->wifi_overhead_ns[0] > spec->wifi_overhead_ns[1] ||
	    spec->wifi_overhead_ns[1] > U32_MAX)
		return ERR_PTR(-EINVAL);
	for (i = 0; i < spec->trace_length; i++)
		if (!bitrates_kbps[i])
			return ERR_PTR(-EINVAL);

	wifi = kvzalloc(sizeof(*wifi), GFP_KERNEL);
	if (!wifi)
		return ERR_PTR(-ENOMEM);
	wifi->waiting = kcalloc(spec->wifi_stations, sizeof(*wifi->waiting), GFP_KERNEL);
	if (!wifi->waiting) {
		kvfree(wifi);
		return ERR_PTR(-ENOMEM);
	}
	for (i = 0; i < spec->wifi_stations; i++)
		__skb_queue_head_init(&wifi->waiting[i]);
	__skb_queue_head_init(&wifi->frames);
	wifi->max_frames = spec->wifi_frames;
	wifi->stations = spec->wifi_stations;
	wifi->step_ns = spec->wifi_step_ns;
	wifi->overhead_ns = spec->wifi_overhead_ns[0];
	wifi->overhead_range_ns = spec->wifi_overhead_ns[1] - spec->wifi_overhead_ns[0];
	wifi->bitrates_kbps = bitrates_kbps;
	wifi->bitrates = spec->trace_length;
	wifi->random = random;
	return wifi;
}

void wifi_hold(struct wifi *wifi, struct sk_buff *skb)
{
	u32 flow = ccbench_has_flow(skb->mark) ? ccbench_flow(skb->mark) : 0;

	__skb_queue_tail(&wifi->waiting[flow % wifi->stations], skb);
	wifi->held++;
}

static u64 bitrate_now(const struct wifi *wifi)
{
	u64 step = div64_u64(ccbench_now_ns(), wifi->step_ns);
	u32 i;

	div_u64_rem(step, wifi->bitrates, &i);
	return (u64)wifi->bitrates_kbps[i] * 1000;
}

static u64 airtime_ns(u64 bits, u64 rate_bps)
{
	return div64_u64(bits * NSEC_PER_SEC, rate_bps);
}

static u64 rate_bps(u64 bits, u64 time_ns)
{
	return div64_u64(bits * NSEC_PER_SEC, time_ns);
}

static u64 overhead(struct wifi *wifi)
{
	u64 part = random_u32(&wifi->random);

	return wifi->overhead_ns + (part * wifi->overhead_range_ns >> 32);
}

bool wifi_start(struct bottleneck *link)
{
	struct wifi *wifi = link->wifi;
	struct sk_buff_head *waiting;
	struct sk_buff *skb;
	u64 now;

	while (wifi->held < wifi->max_frames * wifi->stations) {
		skb = bottleneck_take(link);
		if (!skb)
			break;
		wifi_hold(wifi, skb);
	}
	if (!wifi->held)
		return false;

	while (skb_queue_empty(&wifi->waiting[wifi->next_station]))
		wifi->next_station = (wifi->next_station + 1) % wifi->stations;
	wifi->station = wifi->next_station;
	wifi->next_station = (wifi->station + 1) % wifi->stations;

	waiting = &wifi->waiting[wifi->station];
	wifi->bytes = 0;
	while (skb_queue_len(&wifi->frames) < wifi->max_frames) {
		skb = __skb_dequeue(waiting);
		if (!skb)
			break;
		__skb_queue_tail(&wifi->frames, skb);
		wifi->bytes += skb->len;
		wifi->held--;
	}
	now = path_now_ns();
	wifi->start_ns = now;
	wifi->bitrate_bps = bitrate_now(wifi);
	netif_stop_queue(link->dev);
	link->in_service = skb_peek(&wifi->frames);
	path_event_set(&link->sent,
		       now + overhead(wifi) +
		       airtime_ns((u64)wifi->bytes * BITS_PER_BYTE, wifi->bitrate_bps));
	return true;
}

/* ---- capacity of the link --------------------------------------------- */

static void remove_oldest(struct wifi *wifi)
{
	const struct batch *oldest = &wifi->window[wifi->oldest];

	wifi->sum.bits -= oldest->bits;
	wifi->sum.full_bits -= oldest->full_bits;
	wifi->sum.full_ns -= oldest->full_ns;
	wifi->oldest = (wifi->oldest + 1) % MAX_WINDOW_BATCHES;
	wifi->batches--;
}

static void add_batch(struct wifi *wifi, u64 now)
{
	u32 frames = skb_queue_len(&wifi->frames);
	struct batch *batch;

	while (wifi->batches && (wifi->batches == MAX_WINDOW_BATCHES ||
				 wifi->window[wifi->oldest].acked_ns + WINDOW_NS <= now))
		remove_oldest(wifi);
	batch = &wifi->window[(wifi->oldest + wifi->batches++) % MAX_WINDOW_BATCHES];
	batch->acked_ns = now;
	batch->bits = (u64)wifi->bytes * BITS_PER_BYTE;
	batch->full_bits = div_u64(batch->bits * wifi->max_frames, frames);
	batch->full_ns = now - wifi->start_ns +
			 airtime_ns(batch->full_bits - batch->bits, wifi->bitrate_bps);
	wifi->sum.bits += batch->bits;
	wifi->sum.full_bits += batch->full_bits;
	wifi->sum.full_ns += batch->full_ns;
}

/* Rate between the oldest and newest ACK in the window, or of a single batch per window. */
static u64 carried_bps(const struct wifi *wifi, u64 now)
{
	const struct batch *oldest = &wifi->window[wifi->oldest];

	if (wifi->batches == 1)
		return rate_bps(oldest->bits, WINDOW_NS);
	return rate_bps(wifi->sum.bits - oldest->bits, now - oldest->acked_ns);
}

/* At most twice the current rate of the link, because ABC cannot grow faster. */
static u64 estimate(const struct wifi *wifi, u64 now)
{
	return min(rate_bps(wifi->sum.full_bits, wifi->sum.full_ns),
		   2 * carried_bps(wifi, now));
}

u64 wifi_estimate_bps(const struct wifi *wifi)
{
	return wifi->estimate_bps;
}

void wifi_finish(struct bottleneck *link, struct sk_buff_head *packets)
{
	struct wifi *wifi = link->wifi;
	struct ccbench_batch_record *r;

	add_batch(wifi, path_now_ns());
	wifi->estimate_bps = estimate(wifi, path_now_ns());
	r = ccbench_log_append(batch_log, sizeof(*r));
	r->acked_ns = ccbench_now_ns();
	r->start_ns = r->acked_ns - (path_now_ns() - wifi->start_ns);
	r->bitrate_bps = wifi->bitrate_bps;
	r->estimate_bps = wifi->estimate_bps;
	r->bytes = wifi->bytes;
	r->frames = skb_queue_len(&wifi->frames);
	r->station = wifi->station;
	r->bottleneck = link->index;
	skb_queue_splice_tail_init(&wifi->frames, packets);
	link->in_service = NULL;
}
