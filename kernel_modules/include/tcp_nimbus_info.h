/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* State of a socket with the congestion control "nimbus" or a variant in inet_diag. */
#ifndef _TCP_NIMBUS_INFO_H
#define _TCP_NIMBUS_INFO_H

#include <linux/types.h>

/* Type of the attribute, beyond those of kernels; part of replies to requests for VEGASINFO. */
#define INET_DIAG_NIMBUSINFO	129

struct tcp_nimbus_info {
	__u8 mode;		/* 0: TCP-competitive; 1: delay-control */
	__u8 role;		/* 0: watcher; 1: pulser; 2: pulser that is not pulsing */
	__u16 eta_percent;	/* elasticity, at most 65535; 0 if undefined */
	__u32 link_kbps;	/* mu */
	__s32 cross_kbps;	/* z */
	__u32 send_kbps;	/* S */
	__u32 receive_kbps;	/* R */
};

#endif /* _TCP_NIMBUS_INFO_H */
