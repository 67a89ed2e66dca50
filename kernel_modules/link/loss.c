// SPDX-License-Identifier: GPL-2.0
/* Losses before a queue: given packets, periodic, in bursts, independent, and by a policer. */
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

	/* In bursts; probabilities are in units of 2^-32. */
	u64 change[2];			/* of the good and of the bad state, per packet */
	u64 burst_loss[2];
	bool is_bad;
	struct random_stream burst_draws;

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

static bool is_in_burst(struct losses *losses)
{
	if (!losses->change[0])
		return false;
	if (random_u32(&losses->burst_draws) < losses->change[losses->is_bad])
		losses->is_bad = !losses->is_bad;
	return random_u32(&losses->burst_draws) < losses->burst_loss[losses->is_bad];
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

	losses->arrived++;
	return is_given(losses) || due || in_burst ||
	       is_drawn(losses, skb->mark) || is_policed(losses, skb->len);
}

static int create_draws(struct losses *losses, const struct ccbench_link_header *header, u32 index)
{
	losses->background_draws = random_stream(header->seed, RANDOM_BACKGROUND_LOSS, index, 0);
	losses->draws = path_draws(header, RANDOM_LOSS, index);
	return losses->draws ? 0 : -ENOMEM;
}

struct losses *loss_create(const struct ccbench_link_header *header, u32 index,
			   const struct ccbench_bottleneck *spec, const u32 *numbers)
{
	struct losses *losses;
	int err;

	if (!spec->lost_packets && !spec->loss_every_packets && !spec->burst_change[0] &&
	    !spec->loss && !spec->policer_bps)
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
