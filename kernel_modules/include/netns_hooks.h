/* SPDX-License-Identifier: GPL-2.0 */
/* Netfilter hooks of a module in all network namespaces. */
#ifndef _NETNS_HOOKS_H
#define _NETNS_HOOKS_H

#include <linux/netfilter.h>
#include <net/net_namespace.h>

/* Defines hooks_ops for register_pernet_subsys(), with an array of struct nf_hook_ops. */
#define NETNS_HOOKS(hooks)						\
static int __net_init hooks_init(struct net *net)			\
{									\
	return nf_register_net_hooks(net, hooks, ARRAY_SIZE(hooks));	\
}									\
static void __net_exit hooks_exit(struct net *net)			\
{									\
	nf_unregister_net_hooks(net, hooks, ARRAY_SIZE(hooks));		\
}									\
static struct pernet_operations hooks_ops = {				\
	.init = hooks_init,						\
	.exit = hooks_exit,						\
}

#endif /* _NETNS_HOOKS_H */
