// SPDX-License-Identifier: GPL-2.0
/*
 * Propagation delay of both directions, with the jitter of Wi-Fi. To the sender, flows have
 * delays of their own, and those of equal delay share a line.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "link.h"

struct delay_line {
	struct line line;
	u64 extra_ns;
};

/* After a change of the delay, packets may overtake: they then use other lines. */
static struct delay_line *lines;
static u32 line_count;
static u32 *line_of_flow;
static struct line *forward;
static u64 rtt_ns, forward_ns;
static bool has_trace;		/* rtt_ns is not used */
static u64 epoch_ns;

static u64 jitter_ns(u32 mark)
{
	return unlikely(has_wifi_jitter) ? wifi_jitter_draw_ns(mark) : 0;
}

void delay_to_receiver(struct sk_buff *skb)
{
	if (forward_ns || has_wifi_jitter || !skb_queue_empty(&forward->packets))
		line_add(forward, skb, path_now_ns() + forward_ns + jitter_ns(skb->mark));
	else
		path_reach_receiver(skb);
}

void delay_to_sender(struct sk_buff *skb, u64 time_ns)
{
	/* Packets without a flow use the line without extra delay. */
	struct delay_line *line = &lines[skb->mark ? line_of_flow[ccbench_flow(skb->mark)] : 0];

	const u64 both_ns = unlikely(has_trace) ? rtt_trace_at(time_ns - epoch_ns) : rtt_ns;

	line_add(&line->line, skb,
		 time_ns + both_ns - forward_ns + line->extra_ns + jitter_ns(skb->mark));
}

static u32 line_find_or_add(u64 extra_ns)
{
	u32 i;

	for (i = 0; i < line_count; i++)
		if (lines[i].extra_ns == extra_ns)
			return i;
	line_init(&lines[i].line, path_reach_sender);
	lines[i].extra_ns = extra_ns;
	line_count++;
	return i;
}

/* The lines before remain until their last packet has left them, and longer. */
static void replace_lines(void)
{
	struct delay_line *fresh = kcalloc(line_count, sizeof(*fresh), GFP_ATOMIC);
	struct line *fresh_forward = kzalloc(sizeof(*fresh_forward), GFP_ATOMIC);
	u32 i;

	if (!fresh || !fresh_forward)
		panic("ccbench: no memory for a change of the delay\n");
	for (i = 0; i < line_count; i++) {
		line_init(&fresh[i].line, path_reach_sender);
		fresh[i].extra_ns = lines[i].extra_ns;
	}
	line_init(fresh_forward, path_reach_receiver);
	lines = fresh;
	forward = fresh_forward;
}

void delay_set(u64 new_rtt_ns, u64 new_forward_ns, bool overtakes)
{
	if (new_rtt_ns != CCBENCH_UNCHANGED)
		rtt_ns = new_rtt_ns;
	if (new_forward_ns != CCBENCH_UNCHANGED)
		forward_ns = new_forward_ns;
	if (overtakes)
		replace_lines();
}

void delay_start(u64 start_ns)
{
	epoch_ns = start_ns;
}

int delay_create(const struct ccbench_link_header *header, const u32 *extra_us,
		 const struct ccbench_rtt_point *points)
{
	const u32 flows = header->flows;
	u32 distinct = 1;
	u32 i;
	int err;

	/* Upper bound of the number of lines; adjacent flows usually share a delay. */
	for (i = 0; i < flows; i++)
		distinct += i == 0 || extra_us[i] != extra_us[i - 1];
	lines = kvcalloc(distinct, sizeof(*lines), GFP_KERNEL);
	line_of_flow = kvmalloc_array(max(flows, 1U), sizeof(*line_of_flow), GFP_KERNEL);
	forward = kzalloc(sizeof(*forward), GFP_KERNEL);
	if (!lines || !line_of_flow || !forward)
		return -ENOMEM;

	line_find_or_add(0);
	for (i = 0; i < flows; i++)
		line_of_flow[i] = line_find_or_add(extra_us[i] * NSEC_PER_USEC);
	line_init(forward, path_reach_receiver);
	rtt_ns = header->rtt_ns;
	forward_ns = header->forward_delay_ns;
	if (header->wifi_jitter_ns) {
		err = wifi_jitter_enable(header);
		if (err)
			return err;
		wifi_jitter_set(header->wifi_jitter_ns);
	}
	has_trace = header->rtt_points;
	return has_trace ? rtt_trace_create(points, header->rtt_points) : 0;
}
