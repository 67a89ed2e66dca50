// SPDX-License-Identifier: GPL-2.0
/*
 * Losses before a queue: given packets, periodic, in bursts, over time, independent, and by a
 * policer.
 */
#include <linux/math64.h>
#include <linux/slab.h>

#include "link.h"

struct losses {
	/* Given packets. */
	const u32 *numbers;		/* ascending; the first packet is 1 */
	u32 number_count;
	u32 next_number;
	u64 arrived;

	/* Periodic. */
	u64 every;			/* interval in packets; 0: none */
	u64 since_last;

	/* In bursts, in the good and in the bad state; probabilities are in units of 2^-32. */
	u64 change[2];			/* of the state, per packet; 0: none */
	u64 mean_ns[2];			/* of the time until it changes; 0: it changes at packets */
	u64 change_ns;			/* next change, since the start of the clock */
	u64 burst_loss[2];
	bool is_bad;
	struct random_stream burst_draws;
	struct random_stream state_draws;	/* over time, whatever the packets */

	/* Over time. */
	const struct ccbench_loss_point *points;
	u32 point_count;		/* 0: none */
	u32 point;			/* in force */
	struct random_stream point_draws;

	/* Independent. */
	u64 probability;		/* in units of 2^-32 */
	struct random_stream *draws;	/* for packets without a flow, then for each flow */
	struct random_stream background_draws;

	/* Policer: a bucket of tokens, in bits times NSEC_PER_SEC. */
	u64 rate_bps;			/* 0: none */
	u64 bucket;
	u64 tokens;
	u64 filled_ns;
};

static bool is_given(struct losses *losses)
{
	if (losses->next_number == losses->number_count ||
	    losses->numbers[losses->next_number] != losses->arrived)
		return false;
	losses->next_number++;
	return true;
}

static bool is_due(struct losses *losses)
{
	if (!losses->every || ++losses->since_last < losses->every)
		return false;
	losses->since_last = 0;
	return true;
}

static void wait_for_change(struct losses *losses)
{
	losses->change_ns += mul_u64_u64_shr(losses->mean_ns[losses->is_bad],
					     random_exponential(&losses->state_draws), 32);
}

/* Brings the state up to date. */
static void change_state(struct losses *losses)
{
	if (!losses->mean_ns[0]) {
		if (random_u32(&losses->burst_draws) < losses->change[losses->is_bad])
			losses->is_bad = !losses->is_bad;
		return;
	}
	while (losses->change_ns <= ccbench_now_ns()) {
		losses->is_bad = !losses->is_bad;
		wait_for_change(losses);
	}
}

static bool is_in_burst(struct losses *losses)
{
	if (!losses->change[0] && !losses->mean_ns[0])
		return false;
	change_state(losses);
	return random_u32(&losses->burst_draws) < losses->burst_loss[losses->is_bad];
}

static bool is_lost_now(struct losses *losses)
{
	const struct ccbench_loss_point *points = losses->points;
	u64 within_ns;

	if (!losses->point_count)
		return false;
	div64_u64_rem(ccbench_now_ns(), points[losses->point_count - 1].time_ns, &within_ns);
	if (within_ns < points[losses->point].time_ns)
		losses->point = 0;
	/* It is before the last point, which is at the period. */
	while (points[losses->point + 1].time_ns <= within_ns)
		losses->point++;
	return random_u32(&losses->point_draws) < points[losses->point].loss;
}

static bool is_drawn(struct losses *losses, u32 mark)
{
	struct random_stream *draws;

	if (!losses->probability)
		return false;
	draws = mark & CCBENCH_MARK_BACKGROUND ? &losses->background_draws :
						 &losses->draws[ccbench_flow(mark) + 1];
	return random_u32(draws) < losses->probability;
}

static bool is_policed(struct losses *losses, u32 bytes)
{
	u64 now_ns, needed = (u64)bytes * BITS_PER_BYTE * NSEC_PER_SEC;

	if (!losses->rate_bps)
		return false;
	now_ns = path_now_ns();
	/* The product cannot overflow while the bucket is not full. */
	if (now_ns - losses->filled_ns >= div64_u64(losses->bucket - losses->tokens,
						    losses->rate_bps) + 1)
		losses->tokens = losses->bucket;
	else
		losses->tokens += (now_ns - losses->filled_ns) * losses->rate_bps;
	losses->tokens = min(losses->tokens, losses->bucket);
	losses->filled_ns = now_ns;
	if (losses->tokens < needed)
		return true;
	losses->tokens -= needed;
	return false;
}

bool loss_takes(struct losses *losses, const struct sk_buff *skb)
{
	/* These count every packet, also those that another kind of loss takes. */
	bool due = is_due(losses);
	bool in_burst = is_in_burst(losses);
	bool lost_now = is_lost_now(losses);

	losses->arrived++;
	return is_given(losses) || due || in_burst || lost_now ||
	       is_drawn(losses, skb->mark) || is_policed(losses, skb->len);
}

static int create_draws(struct losses *losses, const struct ccbench_link_header *header, u32 index)
{
	losses->background_draws = random_stream(header->seed, RANDOM_BACKGROUND_LOSS, index, 0);
	losses->draws = path_draws(header, RANDOM_LOSS, index);
	return losses->draws ? 0 : -ENOMEM;
}

struct losses *loss_create(const struct ccbench_link_header *header, u32 index,
			   const struct ccbench_bottleneck *spec, const u32 *numbers,
			   const struct ccbench_loss_point *points)
{
	struct losses *losses;
	int err;

	if (!spec->lost_packets && !spec->loss_every_packets && !spec->burst_change[0] &&
	    !spec->burst_mean_ns[0] && !spec->loss_points && !spec->loss && !spec->policer_bps)
		return NULL;
	losses = kzalloc(sizeof(*losses), GFP_KERNEL);
	if (!losses)
		return ERR_PTR(-ENOMEM);
	losses->numbers = numbers;
	losses->number_count = spec->lost_packets;
	losses->every = spec->loss_every_packets;
	memcpy(losses->change, spec->burst_change, sizeof(losses->change));
	memcpy(losses->burst_loss, spec->burst_loss, sizeof(losses->burst_loss));
	losses->burst_draws = random_stream(header->seed, RANDOM_BURST_LOSS, index, 0);
	losses->state_draws = random_stream(header->seed, RANDOM_BURST_LOSS, index, 1);
	memcpy(losses->mean_ns, spec->burst_mean_ns, sizeof(losses->mean_ns));
	if (losses->mean_ns[0])
		wait_for_change(losses);
	losses->points = points;
	losses->point_count = spec->loss_points;
	losses->point_draws = random_stream(header->seed, RANDOM_BURST_LOSS, index, 2);
	losses->rate_bps = spec->policer_bps;
	losses->bucket = spec->policer_bytes * BITS_PER_BYTE * NSEC_PER_SEC;
	losses->tokens = losses->bucket;
	losses->probability = spec->loss;
	err = spec->loss ? create_draws(losses, header, index) : 0;
	return err ? ERR_PTR(err) : losses;
}

int loss_enable(struct bottleneck *link, const struct ccbench_link_header *header)
{
	if (!link->losses)
		link->losses = kzalloc(sizeof(*link->losses), GFP_KERNEL);
	if (!link->losses)
		return -ENOMEM;
	return link->losses->draws ? 0 : create_draws(link->losses, header, link->index);
}

void loss_set(struct losses *losses, u64 probability)
{
	losses->probability = probability;
}
