// SPDX-License-Identifier: GPL-2.0
/*
 * Path from the sender to the first bottleneck: jitter of the host, with a delay line per
 * flow, then jitter of the path, with one line for all flows. Without jitter, packets arrive
 * immediately.
 */
#include <linux/mm.h>

#include "link.h"

static struct jitter of_sender, of_path;
static struct line *senders;	/* for packets without a flow, then for each flow */
static struct line path;

static void leave_sender(struct sk_buff *skb)
{
	if (of_path.range_ns)
		line_add(&path, skb, path_now_ns() + jitter_draw_ns(&of_path, skb->mark));
	else
		path_enter(skb);
}

void departure_send(struct sk_buff *skb)
{
	if (senders)
		line_add(&senders[ccbench_flow(skb->mark) + 1], skb,
			 path_now_ns() + jitter_draw_ns(&of_sender, skb->mark));
	else
		leave_sender(skb);
}

int departure_create(const struct ccbench_link_header *header)
{
	const u32 count = header->flows + 1;
	u32 i;
	int err;

	err = jitter_create(&of_sender, header->sender_jitter_ns, RANDOM_SENDER_JITTER, header) ?:
	      jitter_create(&of_path, header->forward_jitter_ns, RANDOM_FORWARD_JITTER, header);
	if (err)
		return err;
	line_init(&path, path_enter);
	if (!of_sender.range_ns)
		return 0;
	senders = kvmalloc_array(count, sizeof(*senders), GFP_KERNEL);
	if (!senders)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		line_init(&senders[i], leave_sender);
	return 0;
}
