/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* State of a socket with the congestion control "abc" or "abc_ns" in inet_diag. */
#ifndef _TCP_ABC_INFO_H
#define _TCP_ABC_INFO_H

#include <linux/types.h>

/* Type of the attribute, beyond those of kernels; part of replies to requests for VEGASINFO. */
#define INET_DIAG_ABCINFO	128

struct tcp_abc_info {
	__u32 w_abc;		/* packets; the smaller window is used */
	__u32 w_nonabc;
	__u32 accelerated;	/* packets whose ACKs accelerated */
	__u32 braked;
	__u8 ecn;		/* both ends support ECN */
	__u8 increase;		/* packets per RTT */
	__u8 echo;		/* mark echoed by the receiver: 1 is a brake */
	__u8 pad;
};

#endif /* _TCP_ABC_INFO_H */
