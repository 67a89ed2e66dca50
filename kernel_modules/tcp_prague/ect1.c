// SPDX-License-Identifier: GPL-2.0
/*
 * ECT(1) on all packets of a connection.
 *
 * TCP_CONG_ECT_1_NEGOTIATION sets it on SYNs; afterwards, Linux 7.3 sends ECT(0), which
 * classic AQMs and the classic queue of a dual queue expect from other senders. Packets are
 * therefore changed where they leave the host. The kernel still decides which packets are
 * ECN-capable: none if the path damages ECN fields.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/net_namespace.h>

#include "netns_hooks.h"
#include "prague.h"

static bool uses_prague(const struct sock *sk)
{
	return sk && sk_fullsock(sk) && sk->sk_protocol == IPPROTO_TCP &&
	       inet_csk(sk)->icsk_ca_ops == &prague_ops;
}

static unsigned int local_out(void *unused, struct sk_buff *skb, const struct nf_hook_state *state)
{
	const bool ipv6 = state->pf == NFPROTO_IPV6;
	u8 dsfield;

	if (!uses_prague(state->sk))
		return NF_ACCEPT;
	dsfield = ipv6 ? ipv6_get_dsfield(ipv6_hdr(skb)) : ipv4_get_dsfield(ip_hdr(skb));
	if ((dsfield & INET_ECN_MASK) != INET_ECN_ECT_0)
		return NF_ACCEPT;
	if (skb_ensure_writable(skb, ipv6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr)))
		return NF_DROP;
	if (ipv6)
		ipv6_change_dsfield(ipv6_hdr(skb), (u8)~INET_ECN_MASK, INET_ECN_ECT_1);
	else
		ipv4_change_dsfield(ip_hdr(skb), (u8)~INET_ECN_MASK, INET_ECN_ECT_1);
	return NF_ACCEPT;
}

static const struct nf_hook_ops hooks[] = {
	{
		.hook		= local_out,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP_PRI_FIRST,
	},
	{
		.hook		= local_out,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP6_PRI_FIRST,
	},
};

NETNS_HOOKS(hooks);

int prague_ect1_register(void)
{
	return register_pernet_subsys(&hooks_ops);
}

void prague_ect1_unregister(void)
{
	unregister_pernet_subsys(&hooks_ops);
}
