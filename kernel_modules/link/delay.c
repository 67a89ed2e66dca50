// SPDX-License-Identifier: GPL-2.0
/*
 * Propagation delay: one first-in first-out line per distinct delay, so that
 * a packet costs the same however many flows and delays there are.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "link.h"

struct delay_line {
	struct path_event arrival;	/* of its first packet */
	struct sk_buff_head packets;
	u64 delay_ns;
	u64 last_ns;			/* when its last packet arrives */
};

static struct delay_line *lines;
static u32 line_count;
static u32 *line_of_flow;
static u64 jitter_ns, batch_ns;
static struct rnd_state random;

/* What a host takes to answer: uniform from 0 to jitter_ns. */
static u64 jitter_draw_ns(void)
{
	return jitter_ns ? mul_u64_u32_shr(jitter_ns, prandom_u32_state(&random), 32) : 0;
}

/* Each packet waits with its time of arrival in its control buffer. */
static u64 *arrival_ns(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

static void arrive(struct path_event *arrival)
{
	struct delay_line *line = container_of(arrival, struct delay_line, arrival);
	struct sk_buff *skb = __skb_dequeue(&line->packets);
	struct sk_buff *next = skb_peek(&line->packets);

	if (next)
		path_event_set(&line->arrival, *arrival_ns(next));
	path_deliver(skb);
}

void delay_receive(struct sk_buff *skb)
{
	/* What belongs to no flow takes the line without extra delay. */
	struct delay_line *line = &lines[skb->mark ? line_of_flow[ccbench_flow(skb->mark)] : 0];
	u64 ready_ns = path_now_ns() + jitter_draw_ns();
	u64 due_ns;

	/* Answers may have to wait for a time at which all that are ready leave. */
	if (batch_ns)
		ready_ns = div64_u64(ready_ns + batch_ns - 1, batch_ns) * batch_ns;
	due_ns = ready_ns + line->delay_ns;
	/* Packets do not overtake each other. */
	line->last_ns = max(line->last_ns, due_ns);
	*arrival_ns(skb) = line->last_ns;
	if (skb_queue_empty(&line->packets))
		path_event_set(&line->arrival, *arrival_ns(skb));
	__skb_queue_tail(&line->packets, skb);
}

static u32 line_find_or_add(u64 delay_ns)
{
	u32 i;

	for (i = 0; i < line_count; i++)
		if (lines[i].delay_ns == delay_ns)
			return i;
	path_event_init(&lines[i].arrival, arrive);
	__skb_queue_head_init(&lines[i].packets);
	lines[i].delay_ns = delay_ns;
	line_count++;
	return i;
}

int delay_create(const struct ccbench_link_header *header, const u32 *extra_us)
{
	const u32 flows = header->flows;
	u32 distinct = 1;
	u32 i;

	/* Neighbours usually share a delay; at worst every flow has its own. */
	for (i = 0; i < flows; i++)
		distinct += i == 0 || extra_us[i] != extra_us[i - 1];
	lines = kvcalloc(distinct, sizeof(*lines), GFP_KERNEL);
	line_of_flow = kvmalloc_array(max(flows, 1U), sizeof(*line_of_flow), GFP_KERNEL);
	if (!lines || !line_of_flow)
		return -ENOMEM;

	jitter_ns = header->jitter_ns;
	batch_ns = header->ack_batch_ns;
	prandom_seed_state(&random, header->seed);
	line_find_or_add(header->rtt_ns);
	for (i = 0; i < flows; i++)
		line_of_flow[i] = line_find_or_add(header->rtt_ns + extra_us[i] * NSEC_PER_USEC);
	return 0;
}
