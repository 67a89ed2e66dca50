// SPDX-License-Identifier: GPL-2.0
/*
 * First-in first-out delay lines. One event represents the first packet, so the cost of a
 * packet does not depend on the number of waiting packets.
 */
#include <linux/slab.h>

#include "path.h"

/* The control buffer of a packet contains its due time. */
static u64 *due_ns_of(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

static void first_is_due(struct path_event *event)
{
	struct line *line = container_of(event, struct line, event);
	struct sk_buff *skb = __skb_dequeue(&line->packets);
	struct sk_buff *next = skb_peek(&line->packets);
	void (*const deliver)(struct sk_buff *skb) = line->deliver;

	if (next)
		path_event_set(&line->event, *due_ns_of(next));
	else if (unlikely(line->retired))
		kfree(line);
	/* This may change the delay, and free the line. */
	deliver(skb);
}

void line_init(struct line *line, void (*deliver)(struct sk_buff *skb))
{
	path_event_init(&line->event, first_is_due);
	__skb_queue_head_init(&line->packets);
	line->last_ns = 0;
	line->deliver = deliver;
	line->retired = false;
}

void line_retire(struct line *line)
{
	line->retired = true;
	if (skb_queue_empty(&line->packets))
		kfree(line);
}

void line_add(struct line *line, struct sk_buff *skb, u64 due_ns)
{
	line->last_ns = max(line->last_ns, due_ns);
	*due_ns_of(skb) = line->last_ns;
	if (skb_queue_empty(&line->packets))
		path_event_set(&line->event, line->last_ns);
	__skb_queue_tail(&line->packets, skb);
}
