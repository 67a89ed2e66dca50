// SPDX-License-Identifier: GPL-2.0
/* TCP flows of all kinds; see also multipath.c. */
#include <linux/in.h>
#include <linux/math64.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "flows.h"

#define FIRST_PORT	5001
/* Size of a send(2) of the application; the default of iperf3. */
#define WRITE_BYTES	(128 * 1024)
/* An application-limited flow produces about a segment per tick; headers of one; shortest tick. */
#define HEADER_BYTES	52
#define SHORTEST_TICK_NS	NSEC_PER_MSEC
#define MAX_LISTENERS	256

/*
 * One listener per CCA, protocol, version of IP, scale of the receive window and host: some CCAs
 * (dctcp) are required at both ends, and a connection inherits the settings of its listener.
 */
static struct listener {
	char cca[CCBENCH_CCA_MAX];
	u32 window_scale;
	const struct net *net;
	int family;
	bool is_multipath;
	struct socket *sock;
} listeners[MAX_LISTENERS];
static u32 listener_count;

/* The receiver is an ordinary host with this CCA, whatever the CCAs of the flows. */
static char *receiver_cca = "";
module_param(receiver_cca, charp, 0);
MODULE_PARM_DESC(receiver_cca, "CCA of the receiver; by default, those of the flows");

static const char *listener_cca(const char *cca)
{
	return *receiver_cca ? receiver_cca : cca;
}

int tcp_set_cca(struct socket *sock, const char *cca)
{
	return sock_common_setsockopt(sock, SOL_TCP, TCP_CONGESTION,
				      KERNEL_SOCKPTR((char *)cca), strlen(cca));
}

/* ---- the receiver ----------------------------------------------------- */

static int discard(read_descriptor_t *desc, struct sk_buff *skb,
		   unsigned int offset, size_t bytes)
{
	bytes = min(bytes, desc->count);
	desc->count -= bytes;
	return bytes;
}

void tcp_rx_read(struct sock *sk, size_t most_bytes)
{
	struct flow *flow = sk->sk_user_data;
	read_descriptor_t desc = { .count = most_bytes };
	int bytes = tcp_read_sock(sk, &desc, discard);

	if (bytes <= 0)
		return;
	flow->delivered_bytes += bytes;
	if (flow->ops->delivered)
		flow->ops->delivered(flow);
}

static void rx_data_ready(struct sock *sk)
{
	struct flow *flow = sk->sk_user_data;

	switch (flow->spec->acks) {
	case CCBENCH_ACKS_DELAYED:
		/* Reading acknowledges data with PSH immediately, except in interactive sessions. */
		inet_csk_enter_pingpong_mode(sk);
		break;
	case CCBENCH_ACKS_EVERY:
		/* Replenish quick ACKs for the next packet. */
		inet_csk(sk)->icsk_ack.quick = TCP_MAX_QUICKACKS;
		break;
	}
	if (likely(!flow->reader))
		tcp_rx_read(sk, SIZE_MAX);
}

static void rx_state_change(struct sock *sk)
{
	struct flow *flow = sk->sk_user_data;

	if (sk->sk_state == TCP_CLOSE_WAIT || sk->sk_state == TCP_CLOSE)
		queue_work(flow_queue, &flow->rx_work);
}

/* Closes the connection after the sender, or does the work of the receiving application. */
void tcp_rx_work(struct work_struct *work)
{
	struct flow *flow = container_of(work, struct flow, rx_work);

	if (flow->multipath) {
		multipath_rx_work(flow);
		return;
	}
	if (!flow->rx)
		return;
	if (flow->reader && !reader_work(flow))
		return;
	if (flow->rx->sk->sk_state == TCP_ESTABLISHED) {
		if (flow->ops->rx_work)
			flow->ops->rx_work(flow);
		return;
	}
	if (flow->reader)
		reader_stop(flow);
	ecn_collect(flow);
	sock_release(flow->rx);
	flow->rx = NULL;
}

static void accept_one(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct flow *flow;

	lock_sock(sk);
	/* tcp_fwmark_accept copies the mark of the first packet. */
	flow = flow_of_mark(sk->sk_mark);
	if (!flow || flow->rx) {
		release_sock(sk);
		sock_release(sock);
		return;
	}
	flow->rx = sock;
	sk->sk_user_data = flow;
	sk->sk_data_ready = rx_data_ready;
	sk->sk_state_change = rx_state_change;
	if (flow->reader)
		reader_start(flow);
	rx_data_ready(sk);
	rx_state_change(sk);
	release_sock(sk);
	if (flow->ops->accepted)
		flow->ops->accepted(flow);
}

static void accept_all(struct work_struct *work)
{
	struct socket *sock;
	u32 i;

	for (i = 0; i < listener_count; i++)
		while (!kernel_accept(listeners[i].sock, &sock, O_NONBLOCK))
			if (listeners[i].is_multipath)
				multipath_accept(sock);
			else
				accept_one(sock);
}

static DECLARE_WORK(accept_work, accept_all);

static void listener_data_ready(struct sock *sk)
{
	if (sk->sk_state == TCP_LISTEN)
		queue_work(flow_queue, &accept_work);
}

static u32 window_scale_of(const struct flow *flow)
{
	return flow->receiver ? flow->receiver->window_scale : CCBENCH_NO_SCALE;
}

/* Linux chooses the scale by the largest window. */
static int limit_scale(struct socket *sock, u32 scale)
{
	int largest = U16_MAX << scale;

	return sock_common_setsockopt(sock, SOL_TCP, TCP_WINDOW_CLAMP, KERNEL_SOCKPTR(&largest),
				      sizeof(largest));
}

int tcp_port_of(const struct flow *flow)
{
	const char *cca = listener_cca(flow->spec->cca);
	u32 i;

	for (i = 0; i < listener_count; i++)
		if (listeners[i].net == flow_receiver_net(flow) &&
		    listeners[i].family == flow_family(flow) &&
		    listeners[i].is_multipath == !!flow->multipath &&
		    listeners[i].window_scale == window_scale_of(flow) &&
		    !strcmp(listeners[i].cca, cca))
			return FIRST_PORT + i;
	return -ENOENT;
}

int tcp_listen_for(struct flow *flow)
{
	const char *cca = listener_cca(flow->spec->cca);
	struct listener *listener = &listeners[listener_count];
	struct socket *sock;
	int err;

	if (tcp_port_of(flow) > 0)
		return 0;
	if (listener_count == MAX_LISTENERS)
		return -E2BIG;
	err = sock_create_kern(flow_receiver_net(flow), flow_family(flow), SOCK_STREAM,
			       flow->multipath ? IPPROTO_MPTCP : IPPROTO_TCP, &sock);
	if (err)
		return err;
	sock->sk->sk_data_ready = listener_data_ready;
	sock->sk->sk_user_data = NULL;
	err = tcp_set_cca(sock, cca);
	if (err) {
		pr_err("ccbench: congestion control '%s' cannot be used: error %d\n", cca, err);
		return err;
	}
	if (window_scale_of(flow) != CCBENCH_NO_SCALE)
		err = limit_scale(sock, window_scale_of(flow));
	if (!err)
		err = flow_bind(sock, FIRST_PORT + listener_count);
	/* No limit of simultaneous connections, which represent different hosts. */
	if (!err)
		err = kernel_listen(sock, INT_MAX);
	if (err)
		return err;
	strscpy(listener->cca, cca, sizeof(listener->cca));
	listener->window_scale = window_scale_of(flow);
	listener->net = flow_receiver_net(flow);
	listener->family = flow_family(flow);
	listener->is_multipath = flow->multipath;
	listener->sock = sock;
	listener_count++;
	return 0;
}

/* ---- the sender ------------------------------------------------------- */

static void tx_write_space(struct sock *sk)
{
	struct flow *flow = sk->sk_user_data;

	if (!flow || !sk->sk_socket || !sk_stream_is_writeable(sk))
		return;
	clear_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	queue_work(flow_queue, &flow->work);
}

static void tx_state_change(struct sock *sk)
{
	struct flow *flow = sk->sk_user_data;

	if (flow)
		queue_work(flow_queue, &flow->work);
}

static void tx_open(struct flow *flow)
{
	const struct ccbench_flow_spec *spec = flow->spec;
	struct socket *sock;
	int err;

	err = sock_create_kern(flow_sender_net(flow), flow_family(flow), SOCK_STREAM,
			       IPPROTO_TCP, &sock);
	if (err)
		goto fail;
	flow->tx = sock;
	sockets_add_sender(sock->sk);
	sock->sk->sk_mark = ccbench_mark(flow->id);
	sock->sk->sk_user_data = flow;
	sock->sk->sk_write_space = tx_write_space;
	sock->sk->sk_state_change = tx_state_change;
	if (spec->single_packets)
		sk_gso_disable(sock->sk);
	err = tcp_set_cca(sock, spec->cca);
	if (err)
		goto fail;
	err = flow_connect(flow, tcp_port_of(flow), O_NONBLOCK);
	if (err && err != -EINPROGRESS)
		goto fail;

	if (flow->ops->asked)
		sock->sk->sk_data_ready = flow->ops->asked;
	flow->ops->produce(flow);
	sample_add(flow);
	return;

fail:
	flow_fail(flow, err);
}

/*
 * Sends the data that the application has produced. The payload is one repeated page of
 * zeroes, passed to the socket by reference. After a change of the application, the work item
 * runs again.
 */
void tcp_pump(struct flow *flow, struct socket *sock)
{
	while (flow->produced && !flow->rate_changed) {
		/* Read in advance, because the timer of the flow may interrupt the sending. */
		const bool limited = flow->produced != UNLIMITED;
		int sent = ccbench_send_zeroes(sock, zeroes,
					       min_t(u64, flow->produced, WRITE_BYTES));

		if (sent <= 0)
			return;
		if (limited)
			flow->produced -= sent;
	}
	if (flow->ops->has_size)
		kernel_sock_shutdown(sock, SHUT_WR);
}

/* Stores the counters of the socket. */
void tcp_collect(struct flow *flow)
{
	const struct sock *sk = flow_sender(flow);
	const struct tcp_sock *tp;

	ecn_collect(flow);
	if (!sk)
		return;
	tp = tcp_sk(sk);
	flow->sent_bytes = tp->bytes_sent;
	flow->retransmits = tp->total_retrans;
}

static void tx_close(struct flow *flow)
{
	struct socket *sock = flow->tx;

	tcp_collect(flow);
	hrtimer_cancel(&flow->timer);
	sock->sk->sk_user_data = NULL;
	flow->tx = NULL;
	flow->closed = true;
	sockets_remove_sender(sock->sk);
	sock_release(sock);
}

void tcp_work(struct flow *flow)
{
	struct sock *sk;

	if (!flow->tx) {
		tx_open(flow);
		return;
	}
	sk = flow->tx->sk;
	if (flow->stop) {
		/* Discard unsent data by a reset. */
		sock_no_linger(sk);
		tx_close(flow);
		return;
	}
	switch (sk->sk_state) {
	case TCP_ESTABLISHED:
		tcp_pump(flow, flow->tx);
		break;
	case TCP_CLOSE:
		flow_fail(flow, sock_error(sk));
		tx_close(flow);
		break;
	}
}

/* ---- the end of all connections --------------------------------------- */

void tcp_close_receiver(struct flow *flow)
{
	struct socket *sock = flow->rx;

	if (!sock)
		return;
	if (flow->reader)
		reader_stop(flow);
	flow->rx = NULL;
	sock_no_linger(sock->sk);
	sock_release(sock);
}

void tcp_close_listeners(void)
{
	while (listener_count)
		sock_release(listeners[--listener_count].sock);
}

/* ---- application-limited flows ---------------------------------------- */

u64 tcp_rate_tick(struct flow *flow)
{
	const u64 rate = flow->rate_bps;
	u64 tick = max_t(u64, SHORTEST_TICK_NS,
			 div64_u64((u64)(mtu_bytes - HEADER_BYTES) * BITS_PER_BYTE * NSEC_PER_SEC,
				   rate));

	flow->timer_rest += rate * tick;
	flow->produced += div64_u64_rem(flow->timer_rest, BITS_PER_BYTE * NSEC_PER_SEC,
					&flow->timer_rest);
	return tick;
}
