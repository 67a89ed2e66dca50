/* SPDX-License-Identifier: GPL-2.0 */
/* The socket to which a TCP segment belongs, for hooks that see it before TCP. */
#ifndef _SEGMENT_SOCKET_H
#define _SEGMENT_SOCKET_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>

#include "compat.h"

/* Returns the socket of a connection, which the caller releases by sock_gen_put(), or NULL. */
static inline struct sock *socket_of_segment(struct net *net, const struct sk_buff *skb,
					     const struct tcphdr *th)
{
	const struct iphdr *iph = ip_hdr(skb);

#if IS_ENABLED(CONFIG_IPV6)
	if (skb->protocol == htons(ETH_P_IPV6))
		return __inet6_lookup_established(net, CCBENCH_SOCKETS(net) &ipv6_hdr(skb)->saddr,
						  th->source, &ipv6_hdr(skb)->daddr,
						  ntohs(th->dest), skb->dev->ifindex, 0);
#endif
	return inet_lookup_established(net, CCBENCH_SOCKETS(net) iph->saddr, th->source,
				       iph->daddr, th->dest, skb->dev->ifindex);
}

#endif /* _SEGMENT_SOCKET_H */
