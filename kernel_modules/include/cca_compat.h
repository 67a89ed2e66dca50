/* SPDX-License-Identifier: GPL-2.0 */
/* What differs for congestion controls between the kernels (6.1 and later) that have them. */
#ifndef _CCA_COMPAT_H
#define _CCA_COMPAT_H

#include <linux/version.h>
#include <net/tcp.h>

/* 6.10 hands the ACK's number and flags to cong_control, too; ours need neither. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define CONG_CONTROL(name, sk, rs) \
	void name(struct sock *sk, const struct rate_sample *rs)
#else
#define CONG_CONTROL(name, sk, rs) \
	void name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#endif

#endif /* _CCA_COMPAT_H */
