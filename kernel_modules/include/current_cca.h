/* SPDX-License-Identifier: GPL-2.0 */
/* Algorithms of the running kernel, which modules with older versions of them extend. */
#ifndef _CURRENT_CCA_H
#define _CURRENT_CCA_H

#include <linux/err.h>
#include <linux/net.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

/*
 * Returns the operations of an algorithm, with a reference to its module. A socket that
 * selects the algorithm leads to them, because the kernel exports no other way, and loads
 * the module.
 */
static inline const struct tcp_congestion_ops *current_cca_get(const char *name)
{
	const struct tcp_congestion_ops *ops;
	struct socket *sock;
	int err;

	err = sock_create_kern(&init_net, AF_INET, SOCK_STREAM, IPPROTO_TCP, &sock);
	if (err)
		return ERR_PTR(err);
	err = sock_common_setsockopt(sock, SOL_TCP, TCP_CONGESTION,
				     KERNEL_SOCKPTR((char *)name), strlen(name));
	if (err) {
		ops = ERR_PTR(err);
	} else {
		ops = inet_csk(sock->sk)->icsk_ca_ops;
		__module_get(ops->owner);
	}
	sock_release(sock);
	return ops;
}

static inline void current_cca_put(const struct tcp_congestion_ops *ops)
{
	module_put(ops->owner);
}

#endif /* _CURRENT_CCA_H */
