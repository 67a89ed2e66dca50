/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The option of explicit congestion control at hosts.
 *
 * TCP writes no options of congestion controls. The option is therefore added where packets
 * leave the host, and read where they enter it. TCP's packets leave room for it. An ACK with
 * timestamps and three blocks of SACK has no room in its header; the last block gives way, which
 * earlier ACKs had, too (RFC 2018). A packet with data and such blocks has no option.
 *
 * A module defines struct tcp_congestion_ops feedback_ops, feedback_out() and feedback_in(),
 * and registers FEEDBACK_HOOKS.
 */
#ifndef _FEEDBACK_HOOKS_H
#define _FEEDBACK_HOOKS_H

#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/inet_connection_sock.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>

#include "feedback_option.h"
#include "netns_hooks.h"
#include "segment_socket.h"

#define TCP_MAX_HEADER_BYTES	60

static struct tcp_congestion_ops feedback_ops;

/* Called for each packet that leaves a socket, with the TCP header. */
static void feedback_out(struct sock *sk, struct sk_buff *skb, const struct tcphdr *th);
/* Called for each packet that arrives at a socket. */
static void feedback_in(struct sock *sk, struct sk_buff *skb, struct tcphdr *th);

/* Makes TCP's packets smaller by an option of these words. */
static inline void feedback_reserve(struct sock *sk, unsigned int words)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	icsk->icsk_ext_hdr_len += feedback_bytes(words);
	icsk->icsk_pmtu_cookie = 0;	/* computes the size again */
}

static inline void feedback_release(struct sock *sk, unsigned int words)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	icsk->icsk_ext_hdr_len -= feedback_bytes(words);
	icsk->icsk_pmtu_cookie = 0;
}

static inline bool feedback_is_data(struct sk_buff *skb, const struct tcphdr *th)
{
	return skb->len > feedback_ip_bytes(skb) + __tcp_hdrlen(th);
}

/* Removes the last of three blocks of SACK, if they end a pure ACK. */
static inline void feedback_drop_block(struct sk_buff *skb, struct tcphdr *th)
{
	u8 *end = (u8 *)th + __tcp_hdrlen(th);
	u8 *sack = end - TCPOLEN_SACK_BASE - 3 * TCPOLEN_SACK_PERBLOCK;

	/* The lengths and checksums of the packet are set with the option. */
	if (skb->ip_summed != CHECKSUM_PARTIAL || sack < (u8 *)(th + 1) || sack[0] != TCPOPT_SACK || sack[1] != end - sack ||
	    feedback_is_data(skb, th) || skb_is_nonlinear(skb) || skb_cloned(skb))
		return;
	sack[1] -= TCPOLEN_SACK_PERBLOCK;
	th->doff -= TCPOLEN_SACK_PERBLOCK / sizeof(u32);
	skb_trim(skb, skb->len - TCPOLEN_SACK_PERBLOCK);
}

/* Returns true if the option has been added. */
static inline bool feedback_add(struct sk_buff *skb, u16 identifier, const u32 *values,
				unsigned int words)
{
	const unsigned int ip_bytes = feedback_ip_bytes(skb);
	const unsigned int bytes = feedback_bytes(words);
	struct tcphdr *th = (struct tcphdr *)(skb_network_header(skb) + ip_bytes);
	unsigned int tcp_bytes, i;
	__be32 *option;
	u8 *from;

	if (__tcp_hdrlen(th) + bytes > TCP_MAX_HEADER_BYTES)
		feedback_drop_block(skb, th);
	if (__tcp_hdrlen(th) + bytes > TCP_MAX_HEADER_BYTES ||
	    skb->ip_summed != CHECKSUM_PARTIAL || skb_cow_head(skb, bytes))
		return false;
	from = skb->data;
	memmove(skb_push(skb, bytes), from, ip_bytes + sizeof(*th));
	skb_reset_network_header(skb);
	skb_set_transport_header(skb, ip_bytes);
	skb->csum_start = skb_transport_header(skb) - skb->head;

	th = tcp_hdr(skb);
	th->doff += bytes / sizeof(*option);
	option = (__be32 *)(th + 1);
	*option++ = cpu_to_be32(TCPOPT_EXP << 24 | bytes << 16 | identifier);
	for (i = 0; i < words; i++)
		*option++ = cpu_to_be32(values[i]);

	tcp_bytes = skb->len - ip_bytes;
	if (skb->protocol == htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = ipv6_hdr(skb);

		ip->payload_len = htons(tcp_bytes);
		th->check = ~tcp_v6_check(tcp_bytes, &ip->saddr, &ip->daddr, 0);
	} else {
		struct iphdr *ip = ip_hdr(skb);

		ip->tot_len = htons(skb->len);
		ip_send_check(ip);
		th->check = ~tcp_v4_check(tcp_bytes, ip->saddr, ip->daddr, 0);
	}
	return true;
}

/* ---- hooks ------------------------------------------------------------ */

static bool feedback_is_ours(const struct sock *sk)
{
	return sk && sk_fullsock(sk) && sk->sk_protocol == IPPROTO_TCP &&
	       sk->sk_state != TCP_LISTEN && inet_csk(sk)->icsk_ca_ops == &feedback_ops &&
	       inet_csk(sk)->icsk_ca_initialized;
}

static unsigned int feedback_local_out(void *unused, struct sk_buff *skb,
				       const struct nf_hook_state *state)
{
	const struct tcphdr *th;

	if (!feedback_is_ours(state->sk))
		return NF_ACCEPT;
	th = feedback_tcp_header(skb);
	if (th && !th->syn && !th->rst)
		feedback_out(state->sk, skb, th);
	return NF_ACCEPT;
}

static unsigned int feedback_local_in(void *unused, struct sk_buff *skb,
				      const struct nf_hook_state *state)
{
	struct tcphdr *th = feedback_tcp_header(skb);
	struct sock *sk = skb->sk;

	if (!th || th->syn)
		return NF_ACCEPT;
	/* Early demux has usually found the socket. */
	if (!sk)
		sk = socket_of_segment(state->net, skb, th);
	if (feedback_is_ours(sk))
		feedback_in(sk, skb, th);
	if (sk && sk != skb->sk)
		sock_gen_put(sk);
	return NF_ACCEPT;
}

/* Other hooks see packets as on the wire. */
static const struct nf_hook_ops feedback_hooks[] = {
	{
		.hook		= feedback_local_in,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP_PRI_LAST,
	},
	{
		.hook		= feedback_local_out,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP_PRI_FIRST,
	},
	{
		.hook		= feedback_local_in,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP6_PRI_LAST,
	},
	{
		.hook		= feedback_local_out,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP6_PRI_FIRST,
	},
};

NETNS_HOOKS(feedback_hooks);

static int __init feedback_register(void)
{
	int err = register_pernet_subsys(&hooks_ops);

	if (err)
		return err;
	err = tcp_register_congestion_control(&feedback_ops);
	if (err)
		unregister_pernet_subsys(&hooks_ops);
	return err;
}

static void __exit feedback_unregister(void)
{
	tcp_unregister_congestion_control(&feedback_ops);
	unregister_pernet_subsys(&hooks_ops);
}

#endif /* _FEEDBACK_HOOKS_H */
