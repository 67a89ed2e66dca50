// SPDX-License-Identifier: GPL-2.0
/*
 * A fixed window: no congestion control, but the clock of the ACKs.
 *
 * It is the simplest elastic flow: its rate is window / RTT, so that it answers every change
 * of the queueing delay within a round trip (Goyal et al., SIGCOMM 2022, Table 2). It reacts
 * to nothing else, and must not be used outside experiments.
 *
 *	loss		lost packets are sent again, the window stays
 *	timeout		Linux restarts from one packet; the first ACK restores the window
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "bounded_param.h"
#include "cca_compat.h"
#include "ccbench_describe.h"

#define FIXED_MAX_PACKETS	100000

static unsigned int packets = 100;

BOUNDED_PARAM(packets, packets, 1, FIXED_MAX_PACKETS, 0644, "window in packets");

static void fixed_restore(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, min(READ_ONCE(packets), tp->snd_cwnd_clamp));
}

static CONG_CONTROL(fixed_cong_control, sk, rs)
{
	fixed_restore(sk);
}

static u32 fixed_ssthresh(struct sock *sk)
{
	return tcp_snd_cwnd(tcp_sk(sk));
}

static u32 fixed_undo_cwnd(struct sock *sk)
{
	return READ_ONCE(packets);
}

static struct tcp_congestion_ops fixed __read_mostly = {
	.name		= "fixed",
	.owner		= THIS_MODULE,
	.init		= fixed_restore,
	.cong_control	= fixed_cong_control,
	.ssthresh	= fixed_ssthresh,
	.undo_cwnd	= fixed_undo_cwnd,
};

static int __init fixed_register(void)
{
	return tcp_register_congestion_control(&fixed);
}

static void __exit fixed_unregister(void)
{
	tcp_unregister_congestion_control(&fixed);
}

module_init(fixed_register);
module_exit(fixed_unregister);

MODULE_DESCRIPTION("A fixed window, without congestion control");
MODULE_LICENSE("GPL");

CCBENCH_CCA(fixed, , "a fixed window, without congestion control");
