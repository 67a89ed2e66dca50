// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that arrive late after a link: some by a time, or after a number of later packets of
 * their flow; or each by a time of its own (jitter).
 *
 * Jitter is drawn from a table of equally probable delays. If successive delays are correlated,
 * a normal process of first order chooses the entry: the new value is the weighted sum of the
 * last one and of a draw from the table of normal quantiles, and its place among the quantiles
 * is that of the delay, so that the distribution of the delays remains.
 */
#include <linux/math64.h>
#include <linux/slab.h>

#include "link.h"

/* Longest wait for later packets. */
#define LONGEST_NS	NSEC_PER_SEC

/* Size of the tables; see QUANTILES in ccbench/experiment/jitter.py. */
#define QUANTILE_BITS	14
#define QUANTILES	(1 << QUANTILE_BITS)

struct reordering {
	u32 share;			/* in units of 2^-32 */
	u32 packets;			/* 0: by a time */
	u64 delay_ns;
	struct random_stream *draws;	/* for packets without a flow, then for each flow */
	struct list_head late;		/* in the order of departure */

	/* Jitter. */
	const u64 *delays_ns;		/* NULL: none */
	const s64 *normal;		/* quantiles in units of 2^-24; NULL: without a memory */
	s64 memory;			/* weights in units of 2^-32 */
	s64 innovation;
	s64 value;			/* of the process */
	struct random_stream jitter_draws;
};

struct late_packet {
	struct path_event due;
	struct list_head entry;
	const struct bottleneck *link;
	struct sk_buff *skb;
	u32 to_come;			/* later packets that still have to pass */
};

static void release(struct late_packet *late)
{
	list_del(&late->entry);
	late->link->forward(late->skb, late->link);
	kfree(late);
}

static void late_is_due(struct path_event *event)
{
	rcu_read_lock_bh();
	release(container_of(event, struct late_packet, due));
	rcu_read_unlock_bh();
}

static u32 draw_quantile(struct random_stream *draws)
{
	return random_u32(draws) >> (32 - QUANTILE_BITS);
}

/* Returns the place of a value among the normal quantiles. */
static u32 place_of(const struct reordering *reordering, s64 value)
{
	u32 low = 0, high = QUANTILES - 1;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (reordering->normal[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static u64 draw_jitter_ns(struct reordering *reordering)
{
	u32 drawn = draw_quantile(&reordering->jitter_draws);

	if (reordering->normal) {
		reordering->value = (reordering->memory * reordering->value +
				     reordering->innovation * reordering->normal[drawn]) >> 32;
		drawn = place_of(reordering, reordering->value);
	}
	return reordering->delays_ns[drawn];
}

static bool hold(const struct bottleneck *link, struct sk_buff *skb, u64 delay_ns)
{
	struct reordering *reordering = link->reordering;
	struct late_packet *late = kmalloc(sizeof(*late), GFP_ATOMIC);

	/* Without memory, the run fails: see memory_was_short() in flows/main.c. */
	if (!late)
		return false;
	late->link = link;
	late->skb = skb;
	late->to_come = reordering->packets;
	list_add_tail(&late->entry, &reordering->late);
	path_event_init(&late->due, late_is_due);
	path_event_set(&late->due, path_now_ns() + delay_ns);
	return true;
}

/* Counts a packet that passes, and releases those that it overtakes last. */
static void pass(struct reordering *reordering, u32 mark)
{
	struct late_packet *late, *next;

	list_for_each_entry_safe(late, next, &reordering->late, entry) {
		if (late->skb->mark != mark || --late->to_come)
			continue;
		path_event_cancel(&late->due);
		release(late);
	}
}

void reorder_forward(struct sk_buff *skb, const struct bottleneck *link)
{
	struct reordering *reordering = link->reordering;
	const u32 mark = skb->mark;

	if (mark & CCBENCH_MARK_BACKGROUND) {
		link->forward(skb, link);
		return;
	}
	if (reordering->delays_ns) {
		if (!hold(link, skb, draw_jitter_ns(reordering)))
			link->forward(skb, link);
		return;
	}
	if (random_u32(&reordering->draws[ccbench_flow(mark) + 1]) < reordering->share &&
	    hold(link, skb, reordering->packets ? LONGEST_NS : reordering->delay_ns))
		return;
	link->forward(skb, link);
	if (reordering->packets)
		pass(reordering, mark);
}

struct reordering *reorder_create(const struct ccbench_link_header *header, u32 index,
				  const struct ccbench_bottleneck *spec,
				  const struct jitter_tables *tables)
{
	struct reordering *reordering;

	if (!spec->reordered && !spec->jitter_delays)
		return NULL;
	reordering = kzalloc(sizeof(*reordering), GFP_KERNEL);
	if (!reordering)
		return ERR_PTR(-ENOMEM);
	reordering->share = spec->reordered;
	reordering->packets = spec->reordered_packets;
	reordering->delay_ns = spec->reordered_ns;
	INIT_LIST_HEAD(&reordering->late);
	reordering->draws = path_draws(header, RANDOM_REORDERING, index);
	if (!reordering->draws)
		return ERR_PTR(-ENOMEM);
	if (!spec->jitter_delays)
		return reordering;
	if (spec->jitter_delays != QUANTILES)
		return ERR_PTR(-EINVAL);
	reordering->delays_ns = tables->delays_ns;
	/* A link has either kind of late packets, so that the stream is in use once. */
	reordering->jitter_draws = random_stream(header->seed, RANDOM_REORDERING, index, 0);
	if (spec->jitter_memory) {
		reordering->normal = tables->normal;
		reordering->memory = spec->jitter_memory;
		reordering->innovation = spec->jitter_innovation;
		/* The process is stationary from its first value on. */
		reordering->value = tables->normal[draw_quantile(&reordering->jitter_draws)];
	}
	return reordering;
}
