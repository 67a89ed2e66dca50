// SPDX-License-Identifier: GPL-2.0
/*
 * The ECN that the ends of TCP flows negotiate, and their counts of marks. Recorded on request
 * (module parameter "ecn"), on kernels with accurate ECN (RFC 9768, since Linux 7.0).
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "ccbench_describe.h"
#include "flows.h"

#ifdef TCP_CONG_NEEDS_ACCECN
#include <net/tcp_ecn.h>

CCBENCH_FEATURE(accecn, "accurate ECN (RFC 9768)");

static bool ecn;
module_param(ecn, bool, 0);
MODULE_PARM_DESC(ecn, "Record the ECN of flows");

static struct ccbench_log *log;

static u16 mode_of(const struct tcp_sock *tp)
{
	if (tcp_ecn_mode_accecn(tp))
		return CCBENCH_ECN_ACCECN;
	return tcp_ecn_mode_rfc3168(tp) ? CCBENCH_ECN_RFC3168 : CCBENCH_ECN_OFF;
}

/*
 * Follows Linux's counters of 32 bits, which wrap around. The sender estimates its own
 * between two options, so they may decrease.
 */
static void follow(u64 *totals, const u32 *counters)
{
	u32 i;

	for (i = 0; i < CCBENCH_ECN_CODEPOINTS; i++)
		totals[i] += (s32)(counters[i] - (u32)totals[i]);
}

static void collect_sender(struct ccbench_ecn_record *r, const struct tcp_sock *tp)
{
	/* During the handshake, the mode is the requested one. */
	if (!tp->delivered)
		return;
	r->sender_mode = mode_of(tp);
	r->sender_failures = tp->accecn_fail_mode;
	r->delivered_ce = tp->delivered_ce;
	follow(r->delivered_bytes, tp->delivered_ecn_bytes);
}

static void collect_receiver(struct ccbench_ecn_record *r, const struct tcp_sock *tp)
{
	/* Multipath TCP resets the counters of a subflow that has ended. */
	if (!tp->segs_in)
		return;
	r->receiver_mode = mode_of(tp);
	r->receiver_failures = tp->accecn_fail_mode;
	r->received_ce = tp->received_ce;
	follow(r->received_bytes, tp->received_ecn_bytes);
}

/* Stores the state of a flow's open sockets: with samples, and before they are closed. */
void ecn_collect(struct flow *flow)
{
	if (!log || flow->ops->is_udp)
		return;
	if (flow_sender(flow))
		collect_sender(&flow->ecn, tcp_sk(flow_sender(flow)));
	if (flow_receiver(flow))
		collect_receiver(&flow->ecn, tcp_sk(flow_receiver(flow)));
}

void ecn_write(const struct flow *flow)
{
	if (log)
		*(struct ccbench_ecn_record *)ccbench_log_append(log, sizeof(flow->ecn)) = flow->ecn;
}

int ecn_init(void)
{
	if (!ecn)
		return 0;
	BUILD_BUG_ON(ARRAY_SIZE(tcp_sk(NULL)->received_ecn_bytes) != CCBENCH_ECN_CODEPOINTS);
	log = ccbench_log_open("ecn.bin", PAGE_SIZE);
	return PTR_ERR_OR_ZERO(log);
}

#else

void ecn_collect(struct flow *flow)
{
}

void ecn_write(const struct flow *flow)
{
}

int ecn_init(void)
{
	return 0;
}

#endif /* TCP_CONG_NEEDS_ACCECN */
