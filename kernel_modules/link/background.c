// SPDX-License-Identifier: GPL-2.0
/*
 * Background traffic: a Poisson process of full UDP packets at each bottleneck, which leave
 * the path after it and belong to no flow.
 */
#include <linux/bottom_half.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/math64.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "link.h"

/* Separate addresses, so that fair queues treat it as a separate flow. */
#define SOURCE		0x0a000101	/* 10.0.1.1 */
#define DESTINATION	0x0a000102	/* 10.0.1.2 */
#define PORT		9		/* discard */

struct background {
	struct path_event arrival;	/* of the next packet */
	struct bottleneck *link;
	struct random_stream gaps;
	u64 mean_gap_ns;
	u64 next_ns;
};

static struct background *backgrounds;	/* of bottlenecks with background traffic */
static u32 background_count;

static struct sk_buff *make_packet(void)
{
	struct sk_buff *skb = alloc_skb(path_mtu_bytes, GFP_ATOMIC);
	struct udphdr *udp;
	struct iphdr *ip;

	if (!skb)
		return NULL;
	ip = skb_put_zero(skb, path_mtu_bytes);
	udp = (struct udphdr *)(ip + 1);
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->ttl = IPDEFTTL;
	ip->protocol = IPPROTO_UDP;
	ip->tot_len = htons(path_mtu_bytes);
	ip->saddr = htonl(SOURCE);
	ip->daddr = htonl(DESTINATION);
	ip_send_check(ip);
	udp->source = htons(PORT);
	udp->dest = htons(PORT);
	udp->len = htons(path_mtu_bytes - sizeof(*ip));

	skb->protocol = htons(ETH_P_IP);
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, sizeof(*ip));
	skb->mark = CCBENCH_MARK_BACKGROUND;
	return skb;
}

static void wait_for_next(struct background *background)
{
	background->next_ns += mul_u64_u64_shr(background->mean_gap_ns,
					       random_exponential(&background->gaps), 32);
	path_event_set(&background->arrival, background->next_ns);
}

static void arrive(struct path_event *arrival)
{
	struct background *background = container_of(arrival, struct background, arrival);
	struct sk_buff *skb = make_packet();

	wait_for_next(background);
	/* Without memory, the run fails: see memory_was_short() in flows/main.c. */
	if (skb)
		bottleneck_receive(background->link, skb);
}

int background_create(const struct ccbench_link_header *header,
		      const struct ccbench_bottleneck *specs, struct bottleneck *links)
{
	u32 i;

	backgrounds = kcalloc(header->bottlenecks, sizeof(*backgrounds), GFP_KERNEL);
	if (!backgrounds)
		return -ENOMEM;
	for (i = 0; i < header->bottlenecks; i++) {
		struct background *background = &backgrounds[background_count];

		if (!specs[i].background_bps)
			continue;
		path_event_init(&background->arrival, arrive);
		background->link = &links[i];
		background->gaps = random_stream(header->seed, RANDOM_BACKGROUND, i, 0);
		background->mean_gap_ns = div64_u64((u64)path_mtu_bytes * BITS_PER_BYTE *
						    NSEC_PER_SEC, specs[i].background_bps);
		background_count++;
	}
	return 0;
}

void background_start(u64 epoch_ns)
{
	u32 i;

	local_bh_disable();
	for (i = 0; i < background_count; i++) {
		backgrounds[i].next_ns = epoch_ns;
		wait_for_next(&backgrounds[i]);
	}
	local_bh_enable();
}
