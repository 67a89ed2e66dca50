// SPDX-License-Identifier: GPL-2.0
/* Clock of the experiment, random streams, and the flows with their routes and counters. */
#include <linux/if_arp.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "compat.h"
#include "path.h"

u32 path_mtu_bytes;

/* Bottlenecks of a flow. */
struct route {
	u8 first;		/* to the receiver */
	u8 first_reverse;	/* to the sender */
	u8 last;		/* of the data */
	bool reverse;		/* data go to the sender */
};

static struct route *routes;
static struct ccbench_path_counters *counters;
static u32 flow_count;
static u32 bottleneck_count;
static u32 forward_count;	/* bottlenecks to the receiver */
static u64 epoch_ns;

/* ---- clock and random streams ----------------------------------------- */

void path_start(u64 time_ns)
{
	epoch_ns = time_ns;
}

u64 ccbench_now_ns(void)
{
	return path_now_ns() - epoch_ns;
}
EXPORT_SYMBOL_GPL(ccbench_now_ns);

struct random_stream *path_draws(const struct ccbench_link_header *header,
				 enum random_purpose purpose, u32 bottleneck)
{
	const u32 count = header->flows + 1;
	struct random_stream *draws = kvmalloc_array(count, sizeof(*draws), GFP_KERNEL);
	u32 i;

	for (i = 0; draws && i < count; i++)
		draws[i] = random_stream(header->seed, purpose, bottleneck, i);
	return draws;
}

/* ---- routes ----------------------------------------------------------- */

u32 path_first(u32 mark, bool reverse)
{
	const struct route *route = mark ? &routes[ccbench_flow(mark)] : NULL;

	if (reverse)
		return route ? route->first_reverse : forward_count;
	return route ? route->first : 0;
}

bool path_ends_at(u32 mark, u32 bottleneck)
{
	return mark && routes[ccbench_flow(mark)].last == bottleneck;
}

bool path_has_data(u32 mark, bool reverse)
{
	return ccbench_has_flow(mark) && routes[ccbench_flow(mark)].reverse == reverse;
}

int path_set_routes(const u32 *first, const u32 *last)
{
	u32 i;

	for (i = 0; i < flow_count; i++) {
		const bool reverse = last[i] >= forward_count;

		if (last[i] >= bottleneck_count || first[i] > last[i] ||
		    (first[i] >= forward_count) != reverse)
			return -EINVAL;
		routes[i] = (struct route) {
			.first = reverse ? 0 : first[i],
			.first_reverse = reverse ? first[i] : forward_count,
			.last = last[i],
			.reverse = reverse,
		};
	}
	return 0;
}

/* ---- counters --------------------------------------------------------- */

void path_count_entry(struct sk_buff *skb, bool reverse)
{
	/* Other marks have no counters. */
	if (unlikely(skb->mark > flow_count))
		skb->mark = 0;
	if (path_has_data(skb->mark, reverse))
		counters[ccbench_flow(skb->mark)].packets++;
}

void path_count_exit(const struct sk_buff *skb, bool reverse)
{
	struct ccbench_path_counters *of_flow;

	if (!path_has_data(skb->mark, reverse))
		return;
	of_flow = &counters[ccbench_flow(skb->mark)];
	of_flow->departed_bytes += skb->len;
	of_flow->packets--;
}

void path_count_loss(u32 mark, bool reverse)
{
	if (path_has_data(mark, reverse))
		counters[ccbench_flow(mark)].packets--;
}

void path_count_duplicate(u32 mark, bool reverse)
{
	if (path_has_data(mark, reverse))
		counters[ccbench_flow(mark)].packets++;
}

void path_count_drop(u32 mark, bool reverse)
{
	if (path_has_data(mark, reverse))
		counters[ccbench_flow(mark)].drops++;
	path_count_loss(mark, reverse);
}

const struct ccbench_path_counters *ccbench_path_counters(u32 flow)
{
	return &counters[flow];
}
EXPORT_SYMBOL_GPL(ccbench_path_counters);

/* ---- setup ------------------------------------------------------------ */

/*
 * The devices offer checksums in hardware, but no TSO: hosts keep GSO and segment in
 * software when they send, so that the path carries packets.
 */
void path_setup_device(struct net_device *dev)
{
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_POINTOPOINT | IFF_NOARP;
	dev->mtu = path_mtu_bytes;
	dev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->features |= dev->hw_features;
	ccbench_set_lockless_xmit(dev);
}

int path_create(const struct ccbench_link_header *header)
{
	flow_count = header->flows;
	bottleneck_count = header->bottlenecks;
	forward_count = header->bottlenecks - header->reverse_bottlenecks;
	path_mtu_bytes = header->mtu_bytes;
	counters = kvcalloc(max(flow_count, 1U), sizeof(*counters), GFP_KERNEL);
	routes = kvcalloc(max(flow_count, 1U), sizeof(*routes), GFP_KERNEL);
	return counters && routes ? 0 : -ENOMEM;
}
