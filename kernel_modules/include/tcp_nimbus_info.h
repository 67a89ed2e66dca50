/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/* What inet_diag tells of a socket with the congestion control "nimbus" or one of its variants. */
#ifndef _TCP_NIMBUS_INFO_H
#define _TCP_NIMBUS_INFO_H

#include <linux/types.h>

/* The attribute's type, far from those that kernels have; for requests that ask for VEGASINFO. */
#define INET_DIAG_NIMBUSINFO	129

struct tcp_nimbus_info {
	__u8 mode;		/* 0: TCP-competitive; 1: delay-control */
	__u8 role;		/* 0: watcher; 1: pulser; 2: pulser that does not pulse now */
	__u16 eta_percent;	/* elasticity, 65535 for that and more; 0 while there is none */
	__u32 link_kbps;	/* mu */
	__s32 cross_kbps;	/* z */
	__u32 send_kbps;	/* S */
	__u32 receive_kbps;	/* R */
};

#endif /* _TCP_NIMBUS_INFO_H */
