// SPDX-License-Identifier: GPL-2.0
/*
 * Flows between programs of the host, which create and close the sockets. This file attributes
 * packets to flows, sets the CCA of TCP connections, and observes.
 *
 * Each program of a flow has a group of its own (init.c), whose number is that of the flow: the
 * group of a socket's creator is the flow of the socket's packets. A TCP connection that a
 * program accepts belongs to the flow of the SYN (net.ipv4.tcp_fwmark_accept).
 */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <net/inet_hashtables.h>
#include <net/inet6_hashtables.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "flows.h"
#include "ip_fields.h"

/* A TCP socket of a flow at one of the hosts. They are kept until the end, for their counters. */
struct program_socket {
	struct list_head entry;
	struct sock *sk;
	bool sends;		/* at the host that sends data */
};

/* ---- packets ---------------------------------------------------------- */

/* Returns the mark of the packets of a socket that has none; 0: of no flow. */
static u32 mark_of(struct sock *sk)
{
	u32 flow;

	if (!sk || !sk_fullsock(sk) || !sk->sk_socket)
		return 0;
	flow = from_kgid(&init_user_ns, SOCK_INODE(sk->sk_socket)->i_gid) - CCBENCH_FIRST_GROUP;
	if (flow >= flow_count)
		return 0;
	WRITE_ONCE(sk->sk_mark, ccbench_mark(flow));
	return ccbench_mark(flow);
}

static void note_socket(struct flow *flow, struct sock *sk, bool sends)
{
	struct program_socket *socket;

	if (flow->last_socket == sk)
		return;
	flow->last_socket = sk;
	list_for_each_entry(socket, &flow->sockets, entry)
		if (socket->sk == sk)
			return;
	socket = kzalloc(sizeof(*socket), GFP_ATOMIC);
	if (!socket)
		return;		/* the run ends with an error, as memory was short */
	sock_hold(sk);
	socket->sk = sk;
	socket->sends = sends;
	/* Samples interrupt this. */
	list_add_tail_rcu(&socket->entry, &flow->sockets);
}

static void leaves(struct sk_buff *skb, bool reverse)
{
	struct sock *sk = skb->sk;
	struct flow *flow;
	bool sends;

	if (!skb->mark)
		skb->mark = mark_of(sk);
	flow = flow_of_mark(skb->mark);
	if (!flow || flow->ops != &program_ops)
		return;
	sends = reverse == flow->spec->reverse;
	if (ip_is_tcp(skb)) {
		if (sk && sk_fullsock(sk))
			note_socket(flow, sk, sends);
	} else if (sends) {
		flow->udp_sent_bytes += ip_udp_payload(skb);
	}
}

static void arrives(const struct sk_buff *skb, bool reverse)
{
	struct flow *flow = flow_of_mark(skb->mark);

	if (flow && flow->ops == &program_ops && reverse == flow->spec->reverse)
		flow->udp_arrived_bytes += ip_udp_payload(skb);
}

static const struct ccbench_observer observer = { .leaves = leaves, .arrives = arrives };

/* ---- samples ---------------------------------------------------------- */

static u64 read_bytes(const struct tcp_sock *tp)
{
	const u32 unread = tp->rcv_nxt - tp->copied_seq;

	return tp->bytes_received > unread ? tp->bytes_received - unread : 0;
}

void program_collect(struct flow *flow)
{
	const struct program_socket *socket;
	u64 most_sent = 0, most_read = 0;

	if (flow->ops != &program_ops)
		return;
	flow->sent_bytes = flow->udp_sent_bytes;
	flow->delivered_bytes = flow->udp_arrived_bytes;
	flow->retransmits = 0;
	flow->server = NULL;
	flow->client = NULL;
	list_for_each_entry_rcu(socket, &flow->sockets, entry, true) {
		const struct tcp_sock *tp = tcp_sk(socket->sk);
		const bool is_open = socket->sk->sk_state != TCP_CLOSE;

		if (socket->sends) {
			flow->sent_bytes += tp->bytes_sent;
			flow->retransmits += tp->total_retrans;
			if (is_open && tp->bytes_sent >= most_sent) {
				most_sent = tp->bytes_sent;
				flow->server = socket->sk;
			}
		} else {
			flow->delivered_bytes += read_bytes(tp);
			if (is_open && tp->bytes_received >= most_read) {
				most_read = tp->bytes_received;
				flow->client = socket->sk;
			}
		}
	}
}

/* ---- setup ------------------------------------------------------------ */

static struct sock *find_listener(const struct flow *flow)
{
	const u32 host = flow->spec->reverse ? RECEIVER_ADDRESS : SENDER_ADDRESS;
	struct net *net = flow_sender_net(flow);
	const u16 port = CCBENCH_FIRST_PORT + flow->id;
	struct in6_addr address = { }, any = { };

	if (flow_family(flow) == AF_INET)
		return inet_lookup(net, CCBENCH_SOCKETS(net) NULL, 0, 0, 0, htonl(host),
				   htons(port), 0);
	address.s6_addr32[0] = htonl(IPV6_PREFIX);
	address.s6_addr32[3] = htonl(host & 0xff);
	return inet6_lookup(net, CCBENCH_SOCKETS(net) NULL, 0, &any, 0, &address, htons(port), 0);
}

/* The server's connections inherit the settings of its listener. */
static int set_cca(struct flow *flow)
{
	struct sock *sk = find_listener(flow);
	int err;

	if (!sk)
		return -ECONNREFUSED;
	if (flow->spec->single_packets)
		sk_gso_disable(sk);
	err = tcp_set_cca(sk->sk_socket, flow->spec->cca);
	sock_put(sk);
	return err;
}

static int listen(struct flow *flow)
{
	INIT_LIST_HEAD(&flow->sockets);
	ccbench_observe(&observer);
	return *flow->spec->cca ? set_cca(flow) : 0;
}

const struct flow_ops program_ops = {
	.listen = listen,
	.work = sample_add,
};
