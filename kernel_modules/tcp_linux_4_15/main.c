// SPDX-License-Identifier: GPL-2.0
/*
 * BBR as in Linux 4.15 and earlier, on a device without segmentation offload.
 *
 * BBR keeps three bursts more in flight than its estimate of the path's capacity. Until Linux
 * 4.15, a burst without offload is one segment. Later kernels take the size of a burst with
 * offload, two segments or more, so that their queue is longer by three packets or more.
 *
 * This is BBR of the running kernel, which is told that as many packets more are in flight,
 * and thus drains its queue further. With offload it is BBR of the running kernel.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "cca_compat.h"
#include "ccbench_describe.h"
#include "derived_cca.h"

#define BURSTS_IN_FLIGHT	3U
#define MOST_SEGMENTS		127U

static const struct tcp_congestion_ops *bbr;

/* Segments of a burst, which later kernels assume without offload, too. */
static u32 burst_segments(struct sock *sk)
{
	unsigned long bytes = READ_ONCE(sk->sk_pacing_rate) >> READ_ONCE(sk->sk_pacing_shift);
	u32 segments;

	bytes = min_t(unsigned long, bytes, GSO_LEGACY_MAX_SIZE - 1 - MAX_TCP_HEADER);
	segments = max_t(u32, bytes / tcp_sk(sk)->mss_cache, bbr->min_tso_segs(sk));
	return min(segments, MOST_SEGMENTS);
}

static CONG_CONTROL(bbr_4_15_cong_control, sk, rs)
{
	struct rate_sample sample = *rs;

	if (!sk_can_gso(sk))
		sample.prior_in_flight += BURSTS_IN_FLIGHT * (burst_segments(sk) - 1);
	CALL_CONG_CONTROL(bbr, sk, &sample);
}

/* Other operations are copied from the running kernel's. */
static struct tcp_congestion_ops bbr_4_15 = {
	.name = "bbr_4_15",
	.cong_control = bbr_4_15_cong_control,
};

static int __init linux_4_15_register(void)
{
	int err;

	bbr = derived_cca_complete(&bbr_4_15, "bbr");
	if (IS_ERR(bbr))
		return PTR_ERR(bbr);
	err = tcp_register_congestion_control(&bbr_4_15);
	if (err)
		current_cca_put(bbr);
	return err;
}

static void __exit linux_4_15_unregister(void)
{
	tcp_unregister_congestion_control(&bbr_4_15);
	current_cca_put(bbr);
}

module_init(linux_4_15_register);
module_exit(linux_4_15_unregister);

MODULE_DESCRIPTION("BBR of Linux 4.15 and earlier without segmentation offload");
MODULE_LICENSE("GPL");

CCBENCH_CCA(bbr_4_15, , "BBR of Linux 4.15 and earlier");
