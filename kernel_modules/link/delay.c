// SPDX-License-Identifier: GPL-2.0
/*
 * Path from the receiver to the sender: the whole propagation delay, jitter, and batches of
 * ACKs. Flows of equal delay share a line.
 */
#include <linux/math64.h>
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
static struct jitter jitter;
static u64 batch_ns;

void delay_receive(struct sk_buff *skb)
{
	/* Packets without a flow use the line without extra delay. */
	struct delay_line *line = &lines[skb->mark ? line_of_flow[ccbench_flow(skb->mark)] : 0];
	u64 ready_ns = path_now_ns() + jitter_draw_ns(&jitter, skb->mark);

	/* In batches, all waiting ACKs leave at multiples of batch_ns. */
	if (batch_ns)
		ready_ns = div64_u64(ready_ns + batch_ns - 1, batch_ns) * batch_ns;
	line_add(&line->line, skb, ready_ns + line->delay_ns);
}

static u32 line_find_or_add(u64 delay_ns)
{
	u32 i;

	for (i = 0; i < line_count; i++)
		if (lines[i].delay_ns == delay_ns)
			return i;
	line_init(&lines[i].line, path_deliver);
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

	batch_ns = header->ack_batch_ns;
	line_find_or_add(header->rtt_ns);
	for (i = 0; i < flows; i++)
		line_of_flow[i] = line_find_or_add(header->rtt_ns + extra_us[i] * NSEC_PER_USEC);
	return jitter_create(&jitter, header->reverse_jitter_ns, RANDOM_REVERSE_JITTER, header);
}
