// SPDX-License-Identifier: GPL-2.0
/*
 * ABC in the full encoding, with the echo of accurate ECN (RFC 9768):
 *
 *			IP			echo
 *	accelerate	ECT(1)			counter of ECT(1) bytes
 *	brake		ECT(0)			counter of ECT(0) bytes
 *	congestion	CE			counter of CE packets
 *
 * The receiver is any host with accurate ECN and its TCP option, without a module. From one
 * ACK to the next, the counters tell which bytes were accelerated and which were braked, also
 * if an ACK covers both or ACKs are lost. A packet with CE has lost its mark and counts as the
 * other packets of its ACK. Without the option, the sender never brakes and behaves as CUBIC,
 * and also without accurate ECN at the other end, then without ECN.
 *
 * Linux sends ECT(0) on connections with accurate ECN. Packets get ECT(1) where they leave the
 * host.
 */
#include <linux/module.h>

#include "abc_compat.h"
#include "ccbench_describe.h"
#include "tcp_abc.h"

#ifdef TCP_CONG_NEEDS_ACCECN	/* Linux 7.0 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <net/dsfield.h>
#include <net/inet_ecn.h>
#include <net/tcp_ecn.h>

#include "netns_hooks.h"

/* ---- echo ------------------------------------------------------------- */

/* Returns the braked share of the bytes that the current ACK reports. */
static u32 braked_share(struct sock *sk)
{
	const u32 *counters = tcp_sk(sk)->delivered_ecn_bytes;
	const u32 braked = counters[INET_ECN_ECT_0 - 1];
	const u32 marked = braked + counters[INET_ECN_ECT_1 - 1];
	struct abc *abc = abc_of(sk);
	s32 newly_marked = marked - abc->marked_bytes;
	s32 newly_braked = braked - abc->braked_bytes;

	/* Estimates of the stack between two options may have been too high. */
	if (newly_marked <= 0)
		return abc->brake ? ABC_PACKET : 0;
	abc->marked_bytes = marked;
	abc->braked_bytes = braked;
	newly_braked = clamp(newly_braked, 0, newly_marked);
	abc->brake = newly_braked > newly_marked / 2;
	return div_u64((u64)newly_braked << ABC_SHIFT, newly_marked);
}

static CONG_CONTROL(abc_accecn_control, sk, rs)
{
	abc_control(sk, rs, braked_share(sk));
}

static void abc_accecn_in_ack_event(struct sock *sk, u32 flags)
{
	/* The stack sets this flag if the counter of CE has increased. */
	if (flags & CA_ACK_ECE)
		WRITE_ONCE(abc_of(sk)->congested, true);
}

/* ---- connections ------------------------------------------------------ */

/* For connections without accurate ECN (main.c). */
static struct tcp_congestion_ops abc_accecn_without_ecn __read_mostly = {
	.cong_control	= abc_cong_control,
	.set_state	= abc_set_state,
	.ssthresh	= abc_ssthresh,
	.undo_cwnd	= abc_undo_cwnd,
	.get_info	= abc_get_info,
	.owner		= THIS_MODULE,
	.name		= "abc_accecn",
};

static void abc_accecn_init(struct sock *sk)
{
	abc_init(sk);
	abc_of(sk)->ecn = tcp_ecn_mode_accecn(tcp_sk(sk));
	if (!abc_of(sk)->ecn)
		inet_csk(sk)->icsk_ca_ops = &abc_accecn_without_ecn;
}

static struct tcp_congestion_ops abc_accecn_ops __read_mostly = {
	.flags		= TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN |
			  TCP_CONG_ECT_1_NEGOTIATION | TCP_CONG_NO_FALLBACK_RFC3168,
	.init		= abc_accecn_init,
	.in_ack_event	= abc_accecn_in_ack_event,
	.cong_control	= abc_accecn_control,
	.set_state	= abc_set_state,
	.ssthresh	= abc_ssthresh,
	.undo_cwnd	= abc_undo_cwnd,
	.get_info	= abc_get_info,
	.owner		= THIS_MODULE,
	.name		= "abc_accecn",
};

/* ---- marks ------------------------------------------------------------ */

static bool is_ours(const struct sock *sk)
{
	return sk && sk_fullsock(sk) && sk->sk_protocol == IPPROTO_TCP &&
	       inet_csk(sk)->icsk_ca_ops == &abc_accecn_ops;
}

static unsigned int local_out(void *unused, struct sk_buff *skb, const struct nf_hook_state *state)
{
	if (!is_ours(state->sk))
		return NF_ACCEPT;
	if (state->pf == NFPROTO_IPV4 && !INET_ECN_is_not_ect(ip_hdr(skb)->tos) &&
	    !skb_ensure_writable(skb, sizeof(struct iphdr)))
		ipv4_change_dsfield(ip_hdr(skb), (u8)~INET_ECN_MASK, INET_ECN_ECT_1);
	if (state->pf == NFPROTO_IPV6 &&
	    !INET_ECN_is_not_ect(ipv6_get_dsfield(ipv6_hdr(skb))) &&
	    !skb_ensure_writable(skb, sizeof(struct ipv6hdr)))
		ipv6_change_dsfield(ipv6_hdr(skb), (u8)~INET_ECN_MASK, INET_ECN_ECT_1);
	return NF_ACCEPT;
}

/* Other hooks see packets as on the wire. */
static const struct nf_hook_ops hooks[] = {
	{
		.hook		= local_out,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP_PRI_FIRST,
	},
	{
		.hook		= local_out,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP6_PRI_FIRST,
	},
};

NETNS_HOOKS(hooks);

/* ---- registration ----------------------------------------------------- */

static int __init abc_accecn_register(void)
{
	int err;

	err = register_pernet_subsys(&hooks_ops);
	if (err)
		return err;
	err = tcp_register_congestion_control(&abc_accecn_ops);
	if (err)
		unregister_pernet_subsys(&hooks_ops);
	return err;
}

static void __exit abc_accecn_unregister(void)
{
	tcp_unregister_congestion_control(&abc_accecn_ops);
	unregister_pernet_subsys(&hooks_ops);
}

module_init(abc_accecn_register);
module_exit(abc_accecn_unregister);
#endif /* TCP_CONG_NEEDS_ACCECN */

CCBENCH_CCA(abc_accecn,
	    CCA_NEEDS_FEATURE(accecn) CCA_QDISC(abc, encoding, full) ABC_INFO,
	    "Accel-Brake Control, with the echo of accurate ECN");
MODULE_DESCRIPTION("Accel-Brake Control with the echo of accurate ECN");
MODULE_LICENSE("GPL");
