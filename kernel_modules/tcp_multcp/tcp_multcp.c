// SPDX-License-Identifier: GPL-2.0
/*
 * MulTCP (Crowcroft and Oechslin, CCR 1998): one flow that gets the throughput of N Reno flows.
 *
 *	each round trip	the window grows by N packets, one for each of the N flows
 *	each loss	one of the N flows halves its window: the window is multiplied
 *			by (N - 1/2) / N
 *
 * Decisions where the paper leaves a choice:
 *
 * 1. Slow start is Reno's: N initial windows would be a burst.
 * 2. After a retransmission timeout, the window restarts from one packet, as Linux does
 *    for every congestion control; ssthresh is (N - 1/2) / N of the window.
 *
 * The approximation holds while the losses of the N flows are independent: one loss event
 * per recovery counts, however many packets it has, so that MulTCP with a large N gets
 * more than N flows, and the more so the smaller the queue.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "bounded_param.h"
#include "ccbench_describe.h"

#define MULTCP_MIN_CWND	2U
#define MULTCP_MAX_FLOWS	1000

static unsigned int flows = 2;

BOUNDED_PARAM(flows, flows, 1, MULTCP_MAX_FLOWS, 0644, "Reno flows that a flow stands for");

static void multcp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	/* N flows grow by a packet in each w / N acknowledged packets. */
	tcp_cong_avoid_ai(tp, max(tcp_snd_cwnd(tp) / READ_ONCE(flows), 1U), acked);
}

static u32 multcp_ssthresh(struct sock *sk)
{
	u64 twice = 2 * READ_ONCE(flows);

	return max_t(u32, div64_u64(tcp_snd_cwnd(tcp_sk(sk)) * (twice - 1), twice), MULTCP_MIN_CWND);
}

static struct tcp_congestion_ops multcp __read_mostly = {
	.name		= "multcp",
	.owner		= THIS_MODULE,
	.cong_avoid	= multcp_cong_avoid,
	.ssthresh	= multcp_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

static int __init multcp_register(void)
{
	return tcp_register_congestion_control(&multcp);
}

static void __exit multcp_unregister(void)
{
	tcp_unregister_congestion_control(&multcp);
}

module_init(multcp_register);
module_exit(multcp_unregister);

MODULE_DESCRIPTION("MulTCP: one flow with the throughput of N Reno flows");
MODULE_LICENSE("GPL");

CCBENCH_CCA(multcp, , "MulTCP: one flow as N Reno flows");
