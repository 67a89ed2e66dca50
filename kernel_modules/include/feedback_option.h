/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Headers of explicit congestion control, in a TCP option.
 *
 * The option is experimental (RFC 6994): an identifier, which is that of a scheme, and words of
 * 32 bits. A packet with data has a request of the sender, which routers change, and a pure ACK
 * has the echo of the receiver. Schemes tell them apart by the number of words.
 */
#ifndef _FEEDBACK_OPTION_H
#define _FEEDBACK_OPTION_H

#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/skbuff.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/tcp.h>

#include "ip_fields.h"

/* Identifiers (RFC 6994) that are not registered. */
#define FEEDBACK_XCP		0xcc01
#define FEEDBACK_RCP		0xcc02
#define FEEDBACK_VCP		0xcc03

#define FEEDBACK_BASE_BYTES	4	/* kind, length and identifier */

static inline unsigned int feedback_bytes(unsigned int words)
{
	return FEEDBACK_BASE_BYTES + words * sizeof(__be32);
}

static inline unsigned int feedback_ip_bytes(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6) ? sizeof(struct ipv6hdr) : ip_hdrlen(skb);
}

/* Returns the TCP header of a packet of TCP in linear memory, or NULL. */
static inline struct tcphdr *feedback_tcp_header(struct sk_buff *skb)
{
	unsigned int offset = skb_network_offset(skb);
	struct tcphdr *th;

	if (!pskb_network_may_pull(skb, sizeof(struct iphdr)) ||
	    (skb->protocol == htons(ETH_P_IPV6) &&
	     !pskb_network_may_pull(skb, sizeof(struct ipv6hdr))) || !ip_is_tcp(skb))
		return NULL;
	offset += feedback_ip_bytes(skb);
	if (!pskb_may_pull(skb, offset + sizeof(*th)))
		return NULL;
	th = (struct tcphdr *)(skb->data + offset);
	if (!pskb_may_pull(skb, offset + __tcp_hdrlen(th)))
		return NULL;
	return (struct tcphdr *)(skb->data + offset);
}

/* Returns the words of the option with an identifier, and their number, or NULL. */
static inline __be32 *feedback_find(struct tcphdr *th, u16 identifier, unsigned int *words)
{
	__be32 *option = (__be32 *)(th + 1);
	const unsigned int room = __tcp_hdrlen(th) - sizeof(*th);
	unsigned int bytes;
	u32 base;

	if (room < FEEDBACK_BASE_BYTES)
		return NULL;
	base = be32_to_cpu(*option);
	bytes = base >> 16 & 0xff;
	if (base >> 24 != TCPOPT_EXP || (base & 0xffff) != identifier ||
	    bytes < FEEDBACK_BASE_BYTES || bytes > room || bytes % sizeof(*option))
		return NULL;
	*words = bytes / sizeof(*option) - 1;
	return option + 1;
}

/* Changes a word of the option of a packet whose TCP header is writable. */
static inline void feedback_set(struct sk_buff *skb, struct tcphdr *th, __be32 *word, u32 value)
{
	const __be32 new = cpu_to_be32(value);

	if (*word == new)
		return;
	inet_proto_csum_replace4(&th->check, skb, *word, new, false);
	*word = new;
}

#endif /* _FEEDBACK_OPTION_H */
