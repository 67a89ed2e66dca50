// SPDX-License-Identifier: GPL-2.0
/*
 * Propagation delay of both directions, with the jitter of Wi-Fi. To the sender, flows have
 * delays of their own, and those of equal delay share a line.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "link.h"

/* Flows with the same extra delay. */
struct delay_group {
	struct line *line;	/* another one after a change of the delay, so that packets overtake */
	u64 extra_ns;
};

static struct delay_group *groups;
static u32 group_count;
static u32 *group_of_flow;
static struct line *forward;
static u64 rtt_ns, forward_ns;
static bool has_trace;		/* rtt_ns is not used */
static u64 epoch_ns;
static void (*arrive)(struct sk_buff *skb);	/* at the receiver */

static u64 jitter_ns(u32 mark)
{
	return unlikely(has_wifi_jitter) ? wifi_jitter_draw_ns(mark) : 0;
}

void delay_to_receiver(struct sk_buff *skb)
{
	if (forward_ns || has_wifi_jitter || !skb_queue_empty(&forward->packets))
		line_add(forward, skb, path_now_ns() + forward_ns + jitter_ns(skb->mark));
	else
		arrive(skb);
}

void delay_to_sender(struct sk_buff *skb, u64 time_ns)
{
	/* Packets without a flow have no extra delay. */
	const struct delay_group *group =
		&groups[skb->mark ? group_of_flow[ccbench_flow(skb->mark)] : 0];

	const u64 both_ns = unlikely(has_trace) ? rtt_trace_at(time_ns - epoch_ns) : rtt_ns;

	line_add(group->line, skb,
		 time_ns + both_ns - forward_ns + group->extra_ns + jitter_ns(skb->mark));
}

static struct line *line_create(void (*deliver)(struct sk_buff *skb), gfp_t flags)
{
	struct line *line = kmalloc(sizeof(*line), flags);

	if (line)
		line_init(line, deliver);
	return line;
}

static u32 group_find_or_add(u64 extra_ns, void (*reach_sender)(struct sk_buff *skb))
{
	u32 i;

	for (i = 0; i < group_count; i++)
		if (groups[i].extra_ns == extra_ns)
			return i;
	groups[i].line = line_create(reach_sender, GFP_KERNEL);
	groups[i].extra_ns = extra_ns;
	group_count++;
	return i;
}

static void replace_line(struct line **line)
{
	struct line *before = *line;

	*line = line_create(before->deliver, GFP_ATOMIC);
	if (!*line)
		panic("ccbench: no memory for a change of the delay\n");
	line_retire(before);
}

static void replace_lines(void)
{
	u32 i;

	for (i = 0; i < group_count; i++)
		replace_line(&groups[i].line);
	replace_line(&forward);
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
		 const struct ccbench_rtt_point *points,
		 void (*reach_receiver)(struct sk_buff *skb),
		 void (*reach_sender)(struct sk_buff *skb))
{
	const u32 flows = header->flows;
	u32 distinct = 1;
	u32 i;
	int err;

	/* Upper bound of the number of groups; adjacent flows usually share a delay. */
	for (i = 0; i < flows; i++)
		distinct += i == 0 || extra_us[i] != extra_us[i - 1];
	groups = kvcalloc(distinct, sizeof(*groups), GFP_KERNEL);
	group_of_flow = kvmalloc_array(max(flows, 1U), sizeof(*group_of_flow), GFP_KERNEL);
	arrive = reach_receiver;
	forward = line_create(reach_receiver, GFP_KERNEL);
	if (!groups || !group_of_flow || !forward)
		return -ENOMEM;

	group_find_or_add(0, reach_sender);
	for (i = 0; i < flows; i++)
		group_of_flow[i] = group_find_or_add(extra_us[i] * NSEC_PER_USEC, reach_sender);
	for (i = 0; i < group_count; i++)
		if (!groups[i].line)
			return -ENOMEM;
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
