// SPDX-License-Identifier: GPL-2.0
/*
 * Propagation delay: one first-in first-out line per distinct delay, so that
 * a packet costs the same however many flows and delays there are.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/timerqueue.h>

#include "compat.h"
#include "link.h"

struct delay_line {
	struct timerqueue_node due;	/* when its first packet arrives */
	struct sk_buff_head packets;
	struct net_device *dest;
	u64 delay_ns;
};

static struct delay_line *lines;
static u32 line_count;
static u32 *line_of_flow;
static struct timerqueue_head pending;
static struct hrtimer timer;

/* Each packet waits with its time of arrival in its control buffer. */
static u64 *arrival_ns(struct sk_buff *skb)
{
	return (u64 *)skb->cb;
}

static void line_schedule(struct delay_line *line)
{
	line->due.expires = *arrival_ns(skb_peek(&line->packets));
	timerqueue_add(&pending, &line->due);
}

static enum hrtimer_restart delay_timer(struct hrtimer *t)
{
	struct timerqueue_node *next;
	u64 now = ktime_get_ns();

	while ((next = timerqueue_getnext(&pending)) && next->expires <= now) {
		struct delay_line *line = container_of(next, struct delay_line, due);
		struct sk_buff *skb = __skb_dequeue(&line->packets);

		timerqueue_del(&pending, next);
		if (!skb_queue_empty(&line->packets))
			line_schedule(line);
		path_deliver(skb, line->dest);
	}

	if (!next)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(t, next->expires);
	return HRTIMER_RESTART;
}

void delay_receive(struct sk_buff *skb, struct net_device *dest)
{
	u32 flow = ccbench_flow(skb->mark);
	/* What belongs to no flow takes the line without extra delay. */
	struct delay_line *line = &lines[skb->mark ? line_of_flow[flow] : 0];

	line->dest = dest;
	*arrival_ns(skb) = ktime_get_ns() + line->delay_ns;
	__skb_queue_tail(&line->packets, skb);
	if (skb_queue_len(&line->packets) > 1)
		return;

	line_schedule(line);
	if (timerqueue_getnext(&pending) == &line->due)
		hrtimer_start(&timer, line->due.expires, HRTIMER_MODE_ABS_SOFT);
}

static u32 line_find_or_add(u64 delay_ns)
{
	u32 i;

	for (i = 0; i < line_count; i++)
		if (lines[i].delay_ns == delay_ns)
			return i;
	timerqueue_init(&lines[i].due);
	__skb_queue_head_init(&lines[i].packets);
	lines[i].delay_ns = delay_ns;
	line_count++;
	return i;
}

int delay_create(u64 rtt_ns, u32 flows, const u32 *extra_us)
{
	u32 distinct = 1;
	u32 i;

	/* Neighbours usually share a delay; at worst every flow has its own. */
	for (i = 0; i < flows; i++)
		distinct += i == 0 || extra_us[i] != extra_us[i - 1];
	lines = kvcalloc(distinct, sizeof(*lines), GFP_KERNEL);
	line_of_flow = kvmalloc_array(max(flows, 1U), sizeof(*line_of_flow), GFP_KERNEL);
	if (!lines || !line_of_flow)
		return -ENOMEM;

	timerqueue_init_head(&pending);
	hrtimer_setup(&timer, delay_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	line_find_or_add(rtt_ns);
	for (i = 0; i < flows; i++)
		line_of_flow[i] = line_find_or_add(rtt_ns + extra_us[i] * NSEC_PER_USEC);
	return 0;
}
