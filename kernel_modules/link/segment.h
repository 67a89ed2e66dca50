/* SPDX-License-Identifier: GPL-2.0 */
/* Properties and numbers of a TCP packet. */
#ifndef _CCBENCH_SEGMENT_H
#define _CCBENCH_SEGMENT_H

#include <net/checksum.h>
#include <net/tcp.h>

static inline u32 segment_payload_bytes(const struct sk_buff *skb)
{
	return skb->len - skb_network_header_len(skb) - tcp_hdrlen(skb);
}

/* Whether a packet only acknowledges. */
static inline bool segment_is_ack(const struct sk_buff *skb)
{
	const __be32 others = TCP_FLAG_SYN | TCP_FLAG_FIN | TCP_FLAG_RST;

	return (tcp_flag_word(tcp_hdr(skb)) & (TCP_FLAG_ACK | others)) == TCP_FLAG_ACK &&
	       !segment_payload_bytes(skb);
}

/* Changes a number in the TCP header. */
static inline void segment_renumber(struct sk_buff *skb, __be32 *field, u32 number)
{
	const __be32 old = *field;

	*field = htonl(number);
	inet_proto_csum_replace4(&tcp_hdr(skb)->check, skb, old, *field, false);
}

#endif /* _CCBENCH_SEGMENT_H */
