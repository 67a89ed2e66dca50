// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that hosts have discarded as damaged or not for them, or that are lost within them, as
 * in a hook of Netfilter. No path does this to a packet, so a module has, and the run must not look
 * like a result.
 */
#include <linux/version.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/snmp.h>
#include <net/tcp.h>
#include <net/udp.h>

#include "flows.h"

/* Linux's own function is not exported in all releases. On 64 bits, all counters are alike. */
static unsigned long sum(const void __percpu *mib, int index)
{
	unsigned long packets = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		packets += ((const unsigned long *)per_cpu_ptr(mib, cpu))[index];
	return packets;
}

static void check(const char *host, const char *counter, unsigned long packets)
{
	if (packets)
		panic("ccbench: the host %s has discarded %lu packets, which something has damaged (%s)\n",
		      host, packets, counter);
}

/* All packets that a host receives reach a protocol, and all that it sends reach its device. */
static void check_conserved(const char *host, const char *law, unsigned long begun,
			    unsigned long ended)
{
	/* Of a fragmented packet, all fragments are sent. */
	if (begun > ended)
		panic("ccbench: the host %s has lost %lu packets between its device and its sockets (%s), as in a hook of Netfilter\n",
		      host, begun - ended, law);
}

static void check_host(const char *host, const struct net *net)
{
	if (!sum(net->mib.ip_statistics, IPSTATS_MIB_REASMREQDS))
		check_conserved(host, "InReceives, InDelivers",
				sum(net->mib.ip_statistics, IPSTATS_MIB_INPKTS),
				sum(net->mib.ip_statistics, IPSTATS_MIB_INDELIVERS));
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	check_conserved(host, "OutRequests, OutTransmits",
			sum(net->mib.ip_statistics, IPSTATS_MIB_OUTREQUESTS),
			sum(net->mib.ip_statistics, IPSTATS_MIB_OUTPKTS));
#endif
}

static void check_counters(const char *host, const struct net *net)
{
	static const struct {
		const char *name;
		int index;
	} counters[] = {
		{ "InHdrErrors", IPSTATS_MIB_INHDRERRORS },
		{ "InAddrErrors", IPSTATS_MIB_INADDRERRORS },
		{ "InUnknownProtos", IPSTATS_MIB_INUNKNOWNPROTOS },
		{ "InTruncatedPkts", IPSTATS_MIB_INTRUNCATEDPKTS },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(counters); i++) {
		check(host, counters[i].name,
		      sum(net->mib.ip_statistics, counters[i].index));
		/* Without IPv6 there are none. */
		if (net->mib.ipv6_statistics)
			check(host, counters[i].name,
			      sum(net->mib.ipv6_statistics, counters[i].index));
	}
	check(host, "TcpInCsumErrors",
	      sum(net->mib.tcp_statistics, TCP_MIB_CSUMERRORS));
	check(host, "UdpInCsumErrors",
	      sum(net->mib.udp_statistics, UDP_MIB_CSUMERRORS));
}

void damage_check(bool has_own_modules)
{
	check_counters("sender", ccbench_sender_net());
	check_counters("receiver", ccbench_receiver_net());
	if (!has_own_modules)
		return;
	check_host("sender", ccbench_sender_net());
	check_host("receiver", ccbench_receiver_net());
}
