/* SPDX-License-Identifier: GPL-2.0 */
/* Segmentation of super-packets in a qdisc that treats each packet on its own. */
#ifndef _QDISC_SEGMENTS_H
#define _QDISC_SEGMENTS_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/version.h>
#include <net/pkt_sched.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#include <net/gso.h>
#endif

#include "compat.h"

typedef int (*qdisc_enqueue_packet)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);

/* Enqueues a packet, or each segment of a super-packet. */
static inline int qdisc_enqueue_segments(struct sk_buff *skb, struct Qdisc *sch,
					 struct sk_buff **to_free, qdisc_enqueue_packet enqueue)
{
	unsigned int bytes = 0, packets = 0, whole = qdisc_pkt_len(skb);
	struct sk_buff *segments, *next;

	if (!skb_is_gso(skb))
		return enqueue(skb, sch, to_free);
	segments = skb_gso_segment(skb, netif_skb_features(skb) & ~NETIF_F_GSO_MASK);
	if (IS_ERR_OR_NULL(segments))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(segments, segments, next) {
		const unsigned int length = segments->len;

		skb_mark_not_on_list(segments);
		ccbench_set_size(segments);
		if (enqueue(segments, sch, to_free) == NET_XMIT_SUCCESS) {
			bytes += length;
			packets++;
		}
	}
	/* Parent qdiscs count one packet of the whole length, if any. */
	if (packets)
		qdisc_tree_reduce_backlog(sch, 1 - packets, whole - bytes);
	consume_skb(skb);
	return packets ? NET_XMIT_SUCCESS : NET_XMIT_DROP;
}

#endif /* _QDISC_SEGMENTS_H */
