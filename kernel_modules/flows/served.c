// SPDX-License-Identifier: GPL-2.0
/*
 * TCP flows between programs: a server sends to a client on request.
 *
 * The programs create and close the sockets; this file marks the packets of the server with
 * the number of the flow, selects its CCA, and observes. A server has a listener with its own
 * port per flow, which identifies the flow of a connection: connections inherit the settings
 * of their listener.
 */
#include <linux/in.h>
#include <net/inet_hashtables.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "flows.h"

#define FIRST_PORT	8000	/* and, for more flows, the following ones; as in web.py */

static void (*usual_state_change)(struct sock *sk);

/* Returns the socket of a host for packets between two addresses, with a reference. */
static struct sock *find_socket(struct net *net, __be32 from, __be16 from_port,
				__be32 to, __be16 to_port)
{
	return inet_lookup(net, CCBENCH_SOCKETS(net) NULL, 0, from, from_port, to, to_port, 0);
}

static struct sock *find_client(const struct sock *server)
{
	const struct inet_sock *inet = inet_sk(server);

	return find_socket(ccbench_receiver_net(), inet->inet_saddr, inet->inet_sport,
			   inet->inet_daddr, inet->inet_dport);
}

/* Callback of the server's sockets, inherited from their listener. */
static void server_state_change(struct sock *sk)
{
	struct flow *flow = flow_of_mark(sk->sk_mark);

	if (flow && sk->sk_state == TCP_ESTABLISHED && !flow->server) {
		sock_hold(sk);
		flow->server = sk;
		flow->client = find_client(sk);
	} else if (flow && flow->server == sk && !flow->stop) {
		/* The flow ended early. */
		flow_fail(flow, -(sk->sk_err ?: ECONNRESET));
	}
	usual_state_change(sk);
}

static int listen(struct flow *flow)
{
	struct sock *sk = find_socket(ccbench_sender_net(), 0, 0, htonl(SENDER_ADDRESS),
				      htons(FIRST_PORT + flow->id));
	int err;

	if (!sk)
		return -ECONNREFUSED;
	if (flow->spec->single_packets)
		sk_gso_disable(sk);
	err = tcp_set_cca(sk->sk_socket, flow->spec->cca);
	if (!err) {
		sk->sk_mark = ccbench_mark(flow->id);
		usual_state_change = sk->sk_state_change;
		sk->sk_state_change = server_state_change;
	}
	sock_put(sk);
	return err;
}

/* Updates the bytes that the client has read. */
void served_collect(struct flow *flow)
{
	const struct tcp_sock *tp;

	if (!flow->client || flow->multipath)
		return;
	tp = tcp_sk(flow->client);
	flow->delivered_bytes = tp->bytes_received - (tp->rcv_nxt - tp->copied_seq);
}

const struct flow_ops served_ops = {
	.listen = listen,
	.work = sample_add,
};
