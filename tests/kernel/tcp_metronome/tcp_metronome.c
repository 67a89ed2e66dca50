// SPDX-License-Identifier: GPL-2.0
/*
 * A congestion control that sends at a constant pace, packet by packet. For
 * tests of the pace.
 */
#include <net/tcp.h>

#include "../include/cca_compat.h"

static ulong bytes_per_s = 1448000;
module_param(bytes_per_s, ulong, 0444);
MODULE_PARM_DESC(bytes_per_s, "payload that it sends in a second");

static void metronome_init(struct sock *sk)
{
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	WRITE_ONCE(sk->sk_pacing_rate, bytes_per_s);
	tcp_sk(sk)->snd_cwnd = 10000;
}

static CONG_CONTROL(metronome_control, sk, rs)
{
	WRITE_ONCE(sk->sk_pacing_rate, bytes_per_s);
	tcp_sk(sk)->snd_cwnd = 10000;
}

static u32 metronome_min_segs(struct sock *sk)
{
	return 1;
}

static struct tcp_congestion_ops metronome = {
	.name = "metronome",
	.owner = THIS_MODULE,
	.init = metronome_init,
	.cong_control = metronome_control,
	.min_tso_segs = metronome_min_segs,
	.ssthresh = tcp_reno_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init metronome_register(void)
{
	return tcp_register_congestion_control(&metronome);
}
module_init(metronome_register);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Sends at a constant pace");
