// SPDX-License-Identifier: GPL-2.0
/* AIMD with configurable constants: the congestion control "aimd". */
#include <linux/module.h>
#include <net/tcp.h>

static unsigned int increase = 1; /* packets added per round trip */
module_param(increase, uint, 0444);
MODULE_PARM_DESC(increase, "packets added in a round trip (1 to 100)");

static unsigned int keep_percent = 50; /* part of the window kept after a loss */
module_param(keep_percent, uint, 0444);
MODULE_PARM_DESC(keep_percent, "part of the window kept after a loss (1 to 99)");

static void aimd_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	/* One more packet for every (window / increase) packets acknowledged. */
	tcp_cong_avoid_ai(tp, max(tcp_snd_cwnd(tp) / increase, 1U), acked);
}

static u32 aimd_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * keep_percent / 100, 2U);
}

static struct tcp_congestion_ops aimd = {
	.name = "aimd",
	.owner = THIS_MODULE,
	.cong_avoid = aimd_cong_avoid,
	.ssthresh = aimd_ssthresh,
	.undo_cwnd = tcp_reno_undo_cwnd,
};

static int __init aimd_init(void)
{
	if (increase < 1 || increase > 100 || keep_percent < 1 || keep_percent > 99)
		return -EINVAL;
	return tcp_register_congestion_control(&aimd);
}

static void __exit aimd_exit(void)
{
	tcp_unregister_congestion_control(&aimd);
}

module_init(aimd_init);
module_exit(aimd_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("AIMD with constants of one's own");
