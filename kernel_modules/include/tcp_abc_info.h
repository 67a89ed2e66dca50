/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What inet_diag tells of a socket with the congestion control "abc" or "abc_ns". */
#ifndef _TCP_ABC_INFO_H
#define _TCP_ABC_INFO_H

#include <linux/types.h>

/* The attribute's type, far from those that kernels have; for requests that ask for VEGASINFO. */
#define INET_DIAG_ABCINFO	128

struct tcp_abc_info {
	__u32 w_abc;		/* packets; the smaller window counts */
	__u32 w_nonabc;
	__u32 accelerated;	/* packets whose ACKs said so */
	__u32 braked;
	__u8 ecn;		/* both ends take part */
	__u8 increase;		/* packets per RTT */
	__u8 echo;		/* the mark that the receiver echoes: 1 is a brake */
	__u8 pad;
};

#endif /* _TCP_ABC_INFO_H */
