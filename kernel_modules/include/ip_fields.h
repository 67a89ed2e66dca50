/* SPDX-License-Identifier: GPL-2.0 */
/* Fields of packets of both versions of IP, whose headers are accessible. */
#ifndef _IP_FIELDS_H
#define _IP_FIELDS_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/ip.h>

/* Extension headers of IPv6 are not supported. */
static inline bool ip_is_tcp(const struct sk_buff *skb)
{
	switch (skb->protocol) {
	case htons(ETH_P_IP):
		return ip_hdr(skb)->protocol == IPPROTO_TCP;
	case htons(ETH_P_IPV6):
		return ipv6_hdr(skb)->nexthdr == IPPROTO_TCP;
	default:
		return false;
	}
}

/* Returns the payload of a UDP packet in bytes, 0 of others. */
static inline u32 ip_udp_payload(const struct sk_buff *skb)
{
	u32 headers = sizeof(struct udphdr);

	switch (skb->protocol) {
	case htons(ETH_P_IP):
		headers += ip_hdrlen(skb);
		return ip_hdr(skb)->protocol == IPPROTO_UDP ? skb->len - headers : 0;
	case htons(ETH_P_IPV6):
		headers += sizeof(struct ipv6hdr);
		return ipv6_hdr(skb)->nexthdr == IPPROTO_UDP ? skb->len - headers : 0;
	default:
		return 0;
	}
}

static inline u8 ip_ecn(const struct sk_buff *skb)
{
	switch (skb->protocol) {
	case htons(ETH_P_IP):
		return ipv4_get_dsfield(ip_hdr(skb)) & INET_ECN_MASK;
	case htons(ETH_P_IPV6):
		return ipv6_get_dsfield(ipv6_hdr(skb)) & INET_ECN_MASK;
	default:
		return INET_ECN_NOT_ECT;
	}
}

static inline void ip_set_ecn(struct sk_buff *skb, u8 ecn)
{
	switch (skb->protocol) {
	case htons(ETH_P_IP):
		ipv4_change_dsfield(ip_hdr(skb), (u8)~INET_ECN_MASK, ecn);
		break;
	case htons(ETH_P_IPV6):
		ipv6_change_dsfield(ipv6_hdr(skb), (u8)~INET_ECN_MASK, ecn);
		break;
	}
}

#endif /* _IP_FIELDS_H */
