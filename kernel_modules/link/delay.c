// SPDX-License-Identifier: GPL-2.0
/*
 * Propagation delay of both directions. To the sender, flows have delays of their own, and
 * those of equal delay share a line.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "link.h"

struct delay_line {
	struct line line;
	u64 delay_ns;
};

static struct delay_line *lines;
static u32 line_count;
static u32 *line_of_flow;
static struct line forward;
static u64 forward_ns;

void delay_to_receiver(struct sk_buff *skb)
{
	if (forward_ns)
		line_add(&forward, skb, path_now_ns() + forward_ns);
	else
		path_reach_receiver(skb);
}

void delay_to_sender(struct sk_buff *skb, u64 time_ns)
{
	/* Packets without a flow use the line without extra delay. */
	struct delay_line *line = &lines[skb->mark ? line_of_flow[ccbench_flow(skb->mark)] : 0];

	line_add(&line->line, skb, time_ns + line->delay_ns);
}

static u32 line_find_or_add(u64 delay_ns)
{
	u32 i;

	for (i = 0; i < line_count; i++)
		if (lines[i].delay_ns == delay_ns)
			return i;
	line_init(&lines[i].line, path_reach_sender);
	lines[i].delay_ns = delay_ns;
	line_count++;
	return i;
}

int delay_create(const struct ccbench_link_header *header, const u32 *extra_us)
{
	const u32 flows = header->flows;
	u32 distinct = 1;
	u32 i;

	/* Upper bound of the number of lines; adjacent flows usually share a delay. */
	for (i = 0; i < flows; i++)
		distinct += i == 0 || extra_us[i] != extra_us[i - 1];
	lines = kvcalloc(distinct, sizeof(*lines), GFP_KERNEL);
	line_of_flow = kvmalloc_array(max(flows, 1U), sizeof(*line_of_flow), GFP_KERNEL);
	if (!lines || !line_of_flow)
		return -ENOMEM;

	line_find_or_add(header->reverse_delay_ns);
	for (i = 0; i < flows; i++)
		line_of_flow[i] = line_find_or_add(header->reverse_delay_ns +
						   extra_us[i] * NSEC_PER_USEC);
	line_init(&forward, path_reach_receiver);
	forward_ns = header->forward_delay_ns;
	return 0;
}
