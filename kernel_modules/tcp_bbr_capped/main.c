// SPDX-License-Identifier: GPL-2.0
/*
 * BBR (version 1) with another cap of the data in flight.
 *
 * In ProbeBW, BBR keeps at most two BDPs in flight, by its own estimate of the BDP. Next to
 * loss-based flows in a deep buffer it is this cap that determines its share, and not its probes
 * (Ware, "Battle for Bandwidth", thesis, Carnegie Mellon University, 2024, section 3.5). With a
 * cap of k BDPs, BBR gets at most 1 - 1/k of the link.
 *
 * This is BBR of the running kernel, to whose window in ProbeBW the module adds k - 2 BDPs, as
 * if Linux's constant bbr_cwnd_gain were k. The window grows to the new cap as in BBR, by a packet
 * per packet that is delivered. Startup, Drain, ProbeRTT and recoveries are Linux's.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "bounded_param.h"
#include "cca_compat.h"
#include "ccbench_describe.h"
#include "derived_cca.h"

#define BBR_UNIT		256	/* of gains */
#define LINUX_CAP_PERCENT	200

static unsigned int cap_percent = 400;

BOUNDED_PARAM(cap_percent, cap_percent, LINUX_CAP_PERCENT, 10000, 0644,
	      "cap of the data in flight in ProbeBW, in percent of the BDP");

static const struct tcp_congestion_ops *bbr;

/* Packets that the cap allows beyond that of Linux, in the present mode. */
static u32 more_packets(struct sock *sk)
{
	const u32 more_percent = READ_ONCE(cap_percent) - LINUX_CAP_PERCENT;
	union tcp_cc_info info = {};
	u64 bytes;
	int attribute;

	if (!more_percent || inet_csk(sk)->icsk_ca_state >= TCP_CA_Recovery ||
	    !bbr->get_info(sk, 1 << (INET_DIAG_BBRINFO - 1), &attribute, &info) ||
	    info.bbr.bbr_cwnd_gain != LINUX_CAP_PERCENT * BBR_UNIT / 100)
		return 0;
	bytes = (u64)info.bbr.bbr_bw_hi << 32 | info.bbr.bbr_bw_lo;
	bytes = mul_u64_u64_div_u64(bytes, info.bbr.bbr_min_rtt, USEC_PER_SEC);
	return div64_u64(bytes * more_percent, 100ULL * max(tcp_sk(sk)->mss_cache, 1U));
}

static CONG_CONTROL(bbr_capped_cong_control, sk, rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const u32 before = tcp_snd_cwnd(tp);
	u32 more, window;

	CALL_CONG_CONTROL(bbr, sk, rs);
	more = more_packets(sk);
	if (!more)
		return;
	window = max(before + rs->acked_sacked, tcp_snd_cwnd(tp));
	tcp_snd_cwnd_set(tp, min3(window, tcp_snd_cwnd(tp) + more, tp->snd_cwnd_clamp));
}

/* Other operations are copied from the running kernel's. */
static struct tcp_congestion_ops bbr_capped = {
	.name = "bbr_capped",
	.cong_control = bbr_capped_cong_control,
};

static int __init bbr_capped_register(void)
{
	int err;

	bbr = derived_cca_complete(&bbr_capped, "bbr");
	if (IS_ERR(bbr))
		return PTR_ERR(bbr);
	err = tcp_register_congestion_control(&bbr_capped);
	if (err)
		current_cca_put(bbr);
	return err;
}

static void __exit bbr_capped_unregister(void)
{
	tcp_unregister_congestion_control(&bbr_capped);
	current_cca_put(bbr);
}

module_init(bbr_capped_register);
module_exit(bbr_capped_unregister);

MODULE_DESCRIPTION("BBR with another cap of the data in flight");
MODULE_LICENSE("GPL");

CCBENCH_CCA(bbr_capped, , "BBR with another cap of the data in flight");
