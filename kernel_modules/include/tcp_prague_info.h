/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* State of a socket with the congestion control "prague" in inet_diag. */
#ifndef _TCP_PRAGUE_INFO_H
#define _TCP_PRAGUE_INFO_H

#include <linux/types.h>

/* Type of the attribute, beyond those of kernels; part of replies to requests for VEGASINFO. */
#define INET_DIAG_PRAGUEINFO	130

struct tcp_prague_info {
	__u32 alpha_ppm;	/* average fraction of marked packets */
	__u32 window_milli;	/* window in units of 1/1000 packet */
	__u32 ce_packets;	/* marks that the receiver reported */
	__u32 reductions;	/* of the window, after marks */
	__u16 classic_permille;	/* 0: the AQM looks like one of L4S; 1000: like a classic one */
	__u8 accecn;		/* negotiated; without it, this is Reno without ECN */
	__u8 pad;
};

#endif /* _TCP_PRAGUE_INFO_H */
