/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels (6.1 and later) for congestion controls. */
#ifndef _CCA_COMPAT_H
#define _CCA_COMPAT_H

#include <linux/sysctl.h>
#include <linux/version.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

/* Linux 6.10 adds the number and flags of the ACK, which these modules only pass on. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define CONG_CONTROL(name, sk, rs) \
	void name(struct sock *sk, const struct rate_sample *rs)
#define CALL_CONG_CONTROL(ops, sk, rs)	(ops)->cong_control(sk, rs)
#else
#define CONG_CONTROL(name, sk, rs) \
	void name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#define CALL_CONG_CONTROL(ops, sk, rs)	(ops)->cong_control(sk, ack, flag, rs)
#endif

/* Since Linux 6.11, handlers have const tables. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define CTL_TABLE	struct ctl_table
#else
#define CTL_TABLE	const struct ctl_table
#endif

/* Linux 6.6 replaces the terminating empty entry of a table by its length. */
static inline struct ctl_table_header *
cca_register_sysctl(struct net *net, struct ctl_table *table, size_t length)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
	return register_net_sysctl(net, "net/ipv4", table);
#else
	return register_net_sysctl_sz(net, "net/ipv4", table, length);
#endif
}

/*
 * Linux 7 reports the start of transmission after a pause by a callback of its own.
 * CCA_TX_START defines it for an event function, and CCA_EVENTS sets both.
 */
#define CCA_TX_START(event) \
	static void __maybe_unused event##_tx_start(struct sock *sk) \
	{ \
		event(sk, CA_EVENT_TX_START); \
	}
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
#define CCA_EVENTS(event)	.cwnd_event = event
#else
#define CCA_EVENTS(event)	.cwnd_event = event, .cwnd_event_tx_start = event##_tx_start
#endif

#endif /* _CCA_COMPAT_H */
