/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between the kernels (6.1 and later) that the module builds on. */
#ifndef _TCP_RAPID_COMPAT_H
#define _TCP_RAPID_COMPAT_H

#include <linux/version.h>
#include <net/tcp.h>

/* 6.10 tells the algorithm about the ACK, too; RAPID has no use for it. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define RAPID_CONG_CONTROL(name) \
	name(struct sock *sk, const struct rate_sample *rs)
#else
#define RAPID_CONG_CONTROL(name) \
	name(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
#endif

#endif /* _TCP_RAPID_COMPAT_H */
