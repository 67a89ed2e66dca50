/* SPDX-License-Identifier: GPL-2.0 */
/*
 * State of a congestion control that is larger than the area that Linux has for it in a socket.
 *
 * The area has a pointer, which is NULL before .init, which comes after the ACK of a passive
 * handshake, and after .release, when the socket can still be shown.
 */
#ifndef _LARGE_STATE_H
#define _LARGE_STATE_H

#include <linux/module.h>
#include <linux/slab.h>
#include <net/tcp.h>

static inline void *large_state(const struct sock *sk)
{
	return READ_ONCE(*(void **)inet_csk_ca(sk));
}

/* Returns a state of zeros; or NULL, if there is no memory, and the socket gets other operations. */
static inline void *large_state_begin(struct sock *sk, size_t size,
				      const struct tcp_congestion_ops *without)
{
	void *state = kzalloc(size, GFP_ATOMIC | __GFP_NOWARN);

	WRITE_ONCE(*(void **)inet_csk_ca(sk), state);
	if (!state)
		inet_csk(sk)->icsk_ca_ops = without;
	return state;
}

static inline void large_state_end(struct sock *sk)
{
	void *state = large_state(sk);

	/* Readers of the state must not see a freed pointer. */
	WRITE_ONCE(*(void **)inet_csk_ca(sk), NULL);
	kfree(state);
}

/* Reno, for sockets that get no memory. */
#define LARGE_STATE_RENO(ops, cca_name)				\
static struct tcp_congestion_ops ops __read_mostly = {		\
	.name		= cca_name,				\
	.owner		= THIS_MODULE,				\
	.cong_avoid	= tcp_reno_cong_avoid,			\
	.ssthresh	= tcp_reno_ssthresh,			\
	.undo_cwnd	= tcp_reno_undo_cwnd,			\
}

#endif /* _LARGE_STATE_H */
