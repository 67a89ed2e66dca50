/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels (6.1 and later) for tcp_abc. */
#ifndef _ABC_COMPAT_H
#define _ABC_COMPAT_H

#include <net/tcp.h>

#include "cca_compat.h"

/* Kernels with accurate ECN have a flag for each of both modes. */
#ifndef TCP_ECN_OK
#define TCP_ECN_OK	TCP_ECN_MODE_RFC3168
#define ABC_ECN_MODES	TCP_ECN_MODE_ANY
#else
#define ABC_ECN_MODES	TCP_ECN_OK
#endif

/*
 * Makes the stack send without ECN if accurate ECN was negotiated, which uses the flags of
 * the echo for counters: routers would take ECT for a mark of ABC.
 */
static inline void abc_stop_accecn(struct tcp_sock *tp)
{
#ifdef TCP_CONG_NEEDS_ACCECN
	if (tcp_ecn_mode_accecn(tp))
		tp->accecn_fail_mode |= TCP_ACCECN_ACE_FAIL_SEND;
#endif
}

/* Accurate ECN added flags, also in stable kernels, so the type is tested, not the version. */
#define ABC_SEND_ACK_IS(...) \
	__builtin_types_compatible_p(typeof(__tcp_send_ack), void(__VA_ARGS__))

static inline void abc_send_ack(struct sock *sk, u32 rcv_nxt)
{
	if (ABC_SEND_ACK_IS(struct sock *, u32)) {
		void (*send)(struct sock *sk, u32 rcv_nxt) = (void *)__tcp_send_ack;

		send(sk, rcv_nxt);
	} else {
		void (*send)(struct sock *sk, u32 rcv_nxt, u16 flags) = (void *)__tcp_send_ack;

		BUILD_BUG_ON(!ABC_SEND_ACK_IS(struct sock *, u32) &&
			     !ABC_SEND_ACK_IS(struct sock *, u32, u16));
		send(sk, rcv_nxt, 0);
	}
}

#endif /* _ABC_COMPAT_H */
