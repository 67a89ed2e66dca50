// SPDX-License-Identifier: GPL-2.0
/*
 * From a host to its first bottleneck.
 *
 * The sender: jitter of the host, with a delay line per flow, then jitter of the path, with
 * one line for all flows. The receiver: jitter of the path, and batches of ACKs, with one line
 * for all flows. Without these, packets arrive immediately.
 */
#include <linux/math64.h>
#include <linux/mm.h>

#include "link.h"

static struct jitter of_sender, of_path, of_reverse_path;
static struct line *senders;	/* for packets without a flow, then for each flow */
static struct line path, reverse_path;
static u64 batch_ns;
static bool has_reverse;	/* there are bottlenecks to the sender */
static void (*path_to_receiver)(struct sk_buff *skb);
static void (*path_to_sender)(struct sk_buff *skb);

static void leave_sender(struct sk_buff *skb)
{
	if (of_path.range_ns)
		line_add(&path, skb, path_now_ns() + jitter_draw_ns(&of_path, skb->mark));
	else
		path_to_receiver(skb);
}

static void from_sender(struct sk_buff *skb)
{
	if (senders)
		line_add(&senders[ccbench_flow(skb->mark) + 1], skb,
			 path_now_ns() + jitter_draw_ns(&of_sender, skb->mark));
	else
		leave_sender(skb);
}

static void from_receiver(struct sk_buff *skb)
{
	u64 ready_ns = path_now_ns() + jitter_draw_ns(&of_reverse_path, skb->mark);

	/* In batches, all waiting ACKs leave at multiples of batch_ns. */
	if (batch_ns)
		ready_ns = div64_u64(ready_ns + batch_ns - 1, batch_ns) * batch_ns;
	/* Without bottlenecks, one line delays packets until they arrive. */
	if (!has_reverse)
		delay_to_sender(skb, ready_ns);
	else if (batch_ns || of_reverse_path.range_ns)
		line_add(&reverse_path, skb, ready_ns);
	else
		path_to_sender(skb);
}

void departure(struct sk_buff *skb, bool reverse)
{
	if (reverse)
		from_receiver(skb);
	else
		from_sender(skb);
}

void departure_observed(struct sk_buff *skb, bool reverse)
{
	capture_at(reverse ? CAPTURE_RECEIVER : CAPTURE_SENDER, skb);
	departure(skb, reverse);
}

int departure_create(const struct ccbench_link_header *header,
		     void (*to_receiver)(struct sk_buff *skb),
		     void (*to_sender)(struct sk_buff *skb))
{
	const u32 count = header->flows + 1;
	u32 i;
	int err;

	err = jitter_create(&of_sender, header->sender_jitter_ns, RANDOM_SENDER_JITTER, header) ?:
	      jitter_create(&of_path, header->forward_jitter_ns, RANDOM_FORWARD_JITTER, header) ?:
	      jitter_create(&of_reverse_path, header->reverse_jitter_ns, RANDOM_REVERSE_JITTER,
			    header);
	if (err)
		return err;
	path_to_receiver = to_receiver;
	path_to_sender = to_sender;
	line_init(&path, to_receiver);
	line_init(&reverse_path, to_sender);
	batch_ns = header->ack_batch_ns;
	has_reverse = header->reverse_bottlenecks;
	if (!of_sender.range_ns)
		return 0;
	senders = kvmalloc_array(count, sizeof(*senders), GFP_KERNEL);
	if (!senders)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		line_init(&senders[i], leave_sender);
	return 0;
}
