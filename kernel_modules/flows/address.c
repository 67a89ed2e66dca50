// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses of both hosts: 10.0.0.1 and 10.0.0.2, or fd00::1 and fd00::2. Flows of a host with
 * a memory have a subnet of their own, such as 10.1.0.0/24 and fd00:0:0:100::/64. plan.py sets
 * all of them up.
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <net/ipv6.h>

#include "compat.h"
#include "flows.h"

#define SENDER			1	/* last part of the addresses */
#define FIRST_RECEIVER		2
/*
 * There are 64512 ports for the flows to one address, and the search for a free port is slow
 * once the half that Linux prefers is in use.
 */
#define FLOWS_PER_ADDRESS	25000

#define IPV4_PREFIX		0x0a000000	/* 10.0.0.0 */

union address {
	struct sockaddr_storage any;
	struct sockaddr_in ipv4;
	struct sockaddr_in6 ipv6;
};

int flow_family(const struct flow *flow)
{
	return flow->spec->ip_version == 6 ? AF_INET6 : AF_INET;
}

static int address_bytes(int family)
{
	return family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

int flow_bind(struct socket *sock, int port)
{
	const int family = sock->sk->sk_family;
	union address address = { .any.ss_family = family };

	/* Ports of both versions are at the same place. */
	address.ipv4.sin_port = htons(port);
	if (family == AF_INET6)
		ip6_sock_set_v6only(sock->sk);
	return kernel_bind(sock, ccbench_address(&address.any), address_bytes(family));
}

static u32 receiver_of(const struct flow *flow)
{
	if (flow->spec->reverse)
		return SENDER;
	/* UDP flows are recognised by their marks, and hosts with a memory have few flows. */
	if (flow->ops->is_udp || flow->spec->subnet)
		return FIRST_RECEIVER;
	return FIRST_RECEIVER + flow->id / FLOWS_PER_ADDRESS;
}

int flow_connect(const struct flow *flow, int port, int flags)
{
	const int family = flow_family(flow);
	const u32 subnet = flow->spec->subnet;
	union address address = { .any.ss_family = family };

	address.ipv4.sin_port = htons(port);
	if (family == AF_INET6) {
		address.ipv6.sin6_addr.s6_addr32[0] = htonl(IPV6_PREFIX);
		address.ipv6.sin6_addr.s6_addr32[1] = htonl(subnet);
		address.ipv6.sin6_addr.s6_addr32[3] = htonl(receiver_of(flow));
	} else {
		address.ipv4.sin_addr.s_addr = htonl(IPV4_PREFIX | subnet << 8 | receiver_of(flow));
	}
	return kernel_connect(flow->tx, ccbench_address(&address.any), address_bytes(family), flags);
}
