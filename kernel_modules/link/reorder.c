// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that arrive late after a link: by a time, or after a number of later packets of
 * their flow.
 */
#include <linux/slab.h>

#include "link.h"

/* Longest wait for later packets. */
#define LONGEST_NS	NSEC_PER_SEC

struct reordering {
	u32 share;			/* in units of 2^-32 */
	u32 packets;			/* 0: by a time */
	u64 delay_ns;
	struct random_stream *draws;	/* for packets without a flow, then for each flow */
	struct list_head late;		/* in the order of departure */
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
	path_forward(late->skb, late->link);
	kfree(late);
}

static void late_is_due(struct path_event *event)
{
	rcu_read_lock_bh();
	release(container_of(event, struct late_packet, due));
	rcu_read_unlock_bh();
}

static bool hold(const struct bottleneck *link, struct sk_buff *skb)
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
	path_event_set(&late->due, path_now_ns() +
		       (reordering->packets ? LONGEST_NS : reordering->delay_ns));
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
		path_forward(skb, link);
		return;
	}
	if (random_u32(&reordering->draws[ccbench_flow(mark) + 1]) < reordering->share &&
	    hold(link, skb))
		return;
	path_forward(skb, link);
	if (reordering->packets)
		pass(reordering, mark);
}

struct reordering *reorder_create(const struct ccbench_link_header *header, u32 index,
				  const struct ccbench_bottleneck *spec)
{
	struct reordering *reordering;

	if (!spec->reordered)
		return NULL;
	reordering = kzalloc(sizeof(*reordering), GFP_KERNEL);
	if (!reordering)
		return ERR_PTR(-ENOMEM);
	reordering->share = spec->reordered;
	reordering->packets = spec->reordered_packets;
	reordering->delay_ns = spec->reordered_ns;
	INIT_LIST_HEAD(&reordering->late);
	reordering->draws = path_draws(header, RANDOM_REORDERING, index);
	return reordering->draws ? reordering : ERR_PTR(-ENOMEM);
}
