// SPDX-License-Identifier: GPL-2.0
/*
 * ABC in the full encoding (section 4.2), which local_out congestion marks to routers
 * without ABC:
 *
 *			IP			echo
 *	accelerate	ECT(1)			NS clear
 *	brake		ECT(0)			NS set
 *	congestion	CE			ECE, until CWR (RFC 3168)
 *
 * With a receiver that ignores NS, the sender never brakes and behaves as CUBIC.
 *
 * TCP reports only one mark and one echo to a congestion control. Packets are
 * therefore translated where they enter and leave a host: within the host they look
 * as in the encoding for proxied networks, with CE and ECE for a brake. The meaning of
 * CE and ECE on the wire is stored in the socket. This does not depend on the order of
 * packets: it holds until it is answered, once per RTT.
 */
#include <linux/module.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/tcp.h>
#include <net/checksum.h>

#include "abc_compat.h"
#include "ccbench_describe.h"
#include "ip_fields.h"
#include "netns_hooks.h"
#include "segment_socket.h"
#include "tcp_abc.h"

/* For connections without ECN at the other end (main.c). */
static struct tcp_congestion_ops abc_ns_without_ecn __read_mostly = {
	.in_ack_event	= abc_in_ack_event,
	.cong_control	= abc_cong_control,
	.set_state	= abc_set_state,
	.ssthresh	= abc_ssthresh,
	.undo_cwnd	= abc_undo_cwnd,
	.get_info	= abc_get_info,
	.owner		= THIS_MODULE,
	.name		= "abc_ns",
};

static void abc_ns_init(struct sock *sk)
{
	struct abc *abc;

	abc_init(sk);
	abc = abc_of(sk);
	if (!abc->ecn) {
		abc_stop_accecn(tcp_sk(sk));
		inet_csk(sk)->icsk_ca_ops = &abc_ns_without_ecn;
	}
}

static struct tcp_congestion_ops abc_ns_ops __read_mostly = {
	.flags		= TCP_CONG_NEEDS_ECN,
	.init		= abc_ns_init,
	.in_ack_event	= abc_in_ack_event,
	.cwnd_event	= abc_cwnd_event,
	.cong_control	= abc_cong_control,
	.set_state	= abc_set_state,
	.ssthresh	= abc_ssthresh,
	.undo_cwnd	= abc_undo_cwnd,
	.get_info	= abc_get_info,
	.owner		= THIS_MODULE,
	.name		= "abc_ns",
};

/* ---- headers ---------------------------------------------------------- */

/* Flags in the 13th and 14th byte of a TCP header, whose names differ between kernels. */
#define FLAGS_WORD	6
#define NS		0x0100
#define CWR		0x0080
#define ECE		0x0040

static __be16 *flags_word(struct tcphdr *th)
{
	return (__be16 *)th + FLAGS_WORD;
}

static u16 flags_of(struct tcphdr *th)
{
	return be16_to_cpu(*flags_word(th));
}

static void set_flags(struct sk_buff *skb, struct tcphdr *th, u16 flags)
{
	__be16 new = cpu_to_be16(flags);
	__be16 old = *flags_word(th);

	if (new == old)
		return;
	*flags_word(th) = new;
	inet_proto_csum_replace2(&th->check, skb, old, new, false);
}

static bool is_ipv6(const struct sk_buff *skb)
{
	return skb->protocol == htons(ETH_P_IPV6);
}

static unsigned int ip_bytes(const struct sk_buff *skb)
{
	return is_ipv6(skb) ? sizeof(struct ipv6hdr) : ip_hdrlen(skb);
}

static u16 with(u16 flags, u16 flag, bool set)
{
	return set ? flags | flag : flags & ~flag;
}

/* Returns the TCP header, or NULL if the headers cannot be made writable. */
static struct tcphdr *tcp_header(struct sk_buff *skb)
{
	const unsigned int offset = ip_bytes(skb);

	if (skb_ensure_writable(skb, offset + sizeof(struct tcphdr)))
		return NULL;
	return (struct tcphdr *)(skb_network_header(skb) + offset);
}

/* ---- translation ------------------------------------------------------ */

/* Returns the state of a connected socket with this congestion control, or NULL. */
static struct abc *state_of(const struct sock *sk)
{
	struct abc *abc;

	if (!sk || !sk_fullsock(sk) || sk->sk_protocol != IPPROTO_TCP ||
	    sk->sk_state == TCP_LISTEN || inet_csk(sk)->icsk_ca_ops != &abc_ns_ops)
		return NULL;
	abc = abc_of(sk);
	return abc->ecn ? abc : NULL;
}

static void translate_out(struct abc *abc, struct sk_buff *skb, struct tcphdr *th)
{
	const bool data = skb->len > ip_bytes(skb) + __tcp_hdrlen(th);
	u16 flags = flags_of(th);

	if (!INET_ECN_is_not_ect(ip_ecn(skb)))
		ip_set_ecn(skb, INET_ECN_ECT_1);
	flags = with(flags, NS, flags & ECE);
	flags = with(flags, ECE, READ_ONCE(abc->tell_congested));
	if (data && READ_ONCE(abc->reduced)) {
		WRITE_ONCE(abc->reduced, false);
		flags |= CWR;
		/* CWR on the first segment only. */
		if (skb_is_gso(skb))
			skb_shinfo(skb)->gso_type |= SKB_GSO_TCP_ECN;
	}
	set_flags(skb, th, flags);
}

static void translate_in(struct abc *abc, struct sk_buff *skb, struct tcphdr *th)
{
	u16 flags = flags_of(th);

	if (flags & ECE)
		WRITE_ONCE(abc->congested, true);
	if (flags & CWR)
		WRITE_ONCE(abc->tell_congested, false);
	flags = with(flags, ECE, flags & NS);
	set_flags(skb, th, flags & ~(NS | CWR));

	switch (ip_ecn(skb)) {
	case INET_ECN_ECT_0:
		ip_set_ecn(skb, INET_ECN_CE);
		break;
	case INET_ECN_CE:
		/* CE replaces the mark of ABC; assume that of the packet before. */
		WRITE_ONCE(abc->tell_congested, true);
		ip_set_ecn(skb, abc->echo ? INET_ECN_CE : INET_ECN_ECT_1);
		break;
	}
}

static unsigned int local_out(void *unused, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct abc *abc = state_of(state->sk);
	struct tcphdr *th;

	if (!abc || !ip_is_tcp(skb))
		return NF_ACCEPT;
	th = tcp_header(skb);
	if (th && !th->syn)
		translate_out(abc, skb, th);
	return NF_ACCEPT;
}

static unsigned int local_in(void *unused, struct sk_buff *skb, const struct nf_hook_state *state)
{
	struct sock *sk = skb->sk;
	const struct tcphdr *segment;
	struct tcphdr *th, buffer;
	struct abc *abc;

	if (!ip_is_tcp(skb))
		return NF_ACCEPT;
	segment = skb_header_pointer(skb, ip_bytes(skb), sizeof(buffer), &buffer);
	/* Early demux has usually found the socket. */
	if (!sk && segment)
		sk = socket_of_segment(state->net, skb, segment);
	abc = state_of(sk);
	th = abc ? tcp_header(skb) : NULL;
	if (th && !th->syn)
		translate_in(abc, skb, th);
	if (sk && sk != skb->sk)
		sock_gen_put(sk);
	return NF_ACCEPT;
}

/* Other hooks see packets as on the wire. */
static const struct nf_hook_ops hooks[] = {
	{
		.hook		= local_in,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP_PRI_LAST,
	},
	{
		.hook		= local_out,
		.pf		= NFPROTO_IPV4,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP_PRI_FIRST,
	},
	{
		.hook		= local_in,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_IN,
		.priority	= NF_IP6_PRI_LAST,
	},
	{
		.hook		= local_out,
		.pf		= NFPROTO_IPV6,
		.hooknum	= NF_INET_LOCAL_OUT,
		.priority	= NF_IP6_PRI_FIRST,
	},
};

NETNS_HOOKS(hooks);

static int __init abc_ns_register(void)
{
	int err;

	err = register_pernet_subsys(&hooks_ops);
	if (err)
		return err;
	err = tcp_register_congestion_control(&abc_ns_ops);
	if (err)
		unregister_pernet_subsys(&hooks_ops);
	return err;
}

static void __exit abc_ns_unregister(void)
{
	tcp_unregister_congestion_control(&abc_ns_ops);
	unregister_pernet_subsys(&hooks_ops);
}

module_init(abc_ns_register);
module_exit(abc_ns_unregister);

CCBENCH_CCA(abc_ns,
	    CCA_NEEDS_RECEIVER CCA_EXCLUDES(accecn) CCA_QDISC(abc, encoding, full) ABC_INFO,
	    "Accel-Brake Control, with ECT(1) and ECT(0) as marks");
MODULE_DESCRIPTION("Accel-Brake Control with the full encoding");
MODULE_LICENSE("GPL");
