// SPDX-License-Identifier: GPL-2.0
/* Marks of ABC in the ECN bits of a packet. */
#include <linux/skbuff.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>

#include "pkt_abc.h"
#include "sch_abc.h"

static u8 ecn_of(struct sk_buff *skb)
{
	switch (skb_protocol(skb, true)) {
	case htons(ETH_P_IP):
		if (pskb_network_may_pull(skb, sizeof(struct iphdr)))
			return ipv4_get_dsfield(ip_hdr(skb)) & INET_ECN_MASK;
		break;
	case htons(ETH_P_IPV6):
		if (pskb_network_may_pull(skb, sizeof(struct ipv6hdr)))
			return ipv6_get_dsfield(ipv6_hdr(skb)) & INET_ECN_MASK;
		break;
	}
	return INET_ECN_NOT_ECT;
}

enum abc_mark abc_mark_of(struct sk_buff *skb, u32 encoding)
{
	switch (ecn_of(skb)) {
	case INET_ECN_ECT_1:
		return ACCELERATE;
	case INET_ECN_ECT_0:
		return encoding == ABC_FULL ? BRAKE : ACCELERATE;
	case INET_ECN_CE:
		return encoding == ABC_FULL ? CONGESTED : BRAKE;
	default:
		return NOT_ABC;
	}
}

void abc_make_brake(struct sk_buff *skb, u32 encoding)
{
	if (encoding == ABC_PROXIED)
		INET_ECN_set_ce(skb);
	else if (skb_protocol(skb, true) == htons(ETH_P_IP))
		ipv4_change_dsfield(ip_hdr(skb), (u8)~INET_ECN_MASK, INET_ECN_ECT_0);
	else
		ipv6_change_dsfield(ipv6_hdr(skb), (u8)~INET_ECN_MASK, INET_ECN_ECT_0);
}
