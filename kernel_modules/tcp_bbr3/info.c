// SPDX-License-Identifier: GPL-2.0
/* State of a flow for inet_diag, and its description for ccbench. */
#include <linux/module.h>

#include "bbr3.h"
#include "ccbench_describe.h"
#include "tcp_bbr3_info.h"

#define PHASES	"startup/drain/down/cruise/refill/up/probe_rtt"

CCBENCH_CCA(bbr3,
	    CCA_INFO("phase:u8:" PHASES "|flags:u8|extra_acked:u16|max_bw_mbps:u32:0.000008|"
		     "bw_shortterm_mbps:u32:0.000008|inflight_longterm|inflight_shortterm"),
	    "BBR version 3 (draft-ietf-ccwg-bbr)");

/* At most 2^32 - 1, which is 34 Gbit/s. */
static u32 rate(u64 bytes_per_s)
{
	return bytes_per_s == BBR3_INFINITE_BW ? 0 : min_t(u64, bytes_per_s, U32_MAX);
}

static u32 volume(u32 packets)
{
	return packets == BBR3_INFINITE ? 0 : packets;
}

static u8 flags(const struct bbr3 *bbr)
{
	return (bbr->full_bw_count & TCP_BBR3_FULL_BW_COUNT) |
	       (bbr->full_bw_reached ? TCP_BBR3_FULL_BW_REACHED : 0) |
	       (bbr->full_bw_now ? TCP_BBR3_FULL_BW_NOW : 0) |
	       (bbr->is_loss_in_round ? TCP_BBR3_LOSS_IN_ROUND : 0) |
	       (bbr->idle_restart ? TCP_BBR3_IDLE_RESTART : 0) |
	       (bbr->prev_probe_too_high ? TCP_BBR3_PROBE_TOO_HIGH : 0) |
	       (bbr->undo_phase != BBR3_NO_PHASE ? TCP_BBR3_CAN_UNDO : 0);
}

size_t bbr3_get_info(struct sock *sk, u32 extensions, int *attribute, union tcp_cc_info *info)
{
	struct tcp_bbr3_info *state = (struct tcp_bbr3_info *)info;
	const struct bbr3 *bbr = bbr3_of(sk);

	BUILD_BUG_ON(sizeof(*state) > sizeof(*info));
	if (!bbr)
		return 0;
	if (extensions & BIT(INET_DIAG_VEGASINFO - 1)) {
		*state = (struct tcp_bbr3_info) {
			.phase = bbr->phase,
			.flags = flags(bbr),
			.extra_acked = min_t(u32, bbr->extra_acked, U16_MAX),
			.max_bw = rate(bbr->max_bw),
			.bw_shortterm = rate(bbr->bw_shortterm),
			.inflight_longterm = volume(bbr->inflight_longterm),
			.inflight_shortterm = volume(bbr->inflight_shortterm),
		};
		*attribute = INET_DIAG_BBR3INFO;
		return sizeof(*state);
	}
	if (extensions & BIT(INET_DIAG_BBRINFO - 1)) {
		info->bbr = (struct tcp_bbr_info) {
			.bbr_bw_lo = bbr->bw,
			.bbr_bw_hi = bbr->bw >> 32,
			.bbr_min_rtt = bbr->min_rtt_us,
			.bbr_pacing_gain = bbr3_pacing_gain_percent(bbr) * 256 / 100,
			.bbr_cwnd_gain = bbr3_cwnd_gain(bbr) * 256 / 100,
		};
		*attribute = INET_DIAG_BBRINFO;
		return sizeof(info->bbr);
	}
	return 0;
}
