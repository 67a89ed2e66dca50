/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PACKET_BYTES_H
#define _PACKET_BYTES_H

#include <net/tcp.h>

/* Returns the size of a connection's full packets in bytes, including IP headers. */
static inline u32 packet_bytes(const struct tcp_sock *tp)
{
	const struct inet_connection_sock *icsk = &tp->inet_conn;

	return tp->mss_cache + tp->tcp_header_len + icsk->icsk_af_ops->net_header_len;
}

#endif /* _PACKET_BYTES_H */
