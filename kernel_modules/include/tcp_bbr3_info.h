/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* State of a socket with the congestion control "bbr3" in inet_diag. */
#ifndef _TCP_BBR3_INFO_H
#define _TCP_BBR3_INFO_H

#include <linux/types.h>

/*
 * Type of the attribute, beyond those of kernels; part of replies to requests for VEGASINFO. Those
 * for BBRINFO alone have the structure of BBR version 1, which ss shows.
 */
#define INET_DIAG_BBR3INFO	131

/* Flags. */
#define TCP_BBR3_FULL_BW_COUNT		0x03	/* rounds with little growth, 0 to 3 */
#define TCP_BBR3_FULL_BW_REACHED	0x04
#define TCP_BBR3_FULL_BW_NOW		0x08
#define TCP_BBR3_LOSS_IN_ROUND		0x10
#define TCP_BBR3_IDLE_RESTART		0x20
#define TCP_BBR3_PROBE_TOO_HIGH		0x40
#define TCP_BBR3_CAN_UNDO		0x80	/* a change of state by losses */

/* Rates are in bytes of payload per second, volumes in packets; 0: no bound. */
struct tcp_bbr3_info {
	__u8 phase;		/* enum bbr3_phase */
	__u8 flags;
	__u16 extra_acked;	/* at most 65535 */
	__u32 max_bw;
	__u32 bw_shortterm;
	__u32 inflight_longterm;
	__u32 inflight_shortterm;
};

#endif /* _TCP_BBR3_INFO_H */
