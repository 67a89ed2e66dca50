// SPDX-License-Identifier: GPL-2.0
/*
 * Multipath TCP (RFC 8684): flows whose connections have several subflows.
 *
 * Each subflow is one of the flows, with a number of its own, and its host sends the data from
 * an address of its own, by which a hook marks the packets of both directions. The connection
 * belongs to the flow of its first subflow; the others have the kind CCBENCH_SUBFLOW.
 *
 * Linux leaves the decision when to open which subflow to a path manager. This file is that of
 * all connections (sysctl net.mptcp.pm_type = 1): Linux reports over generic netlink that
 * a connection is established, and it then opens the other subflows.
 */
#include <linux/genetlink.h>
#include <linux/ip.h>
#include <linux/netfilter_ipv4.h>
#include <net/genetlink.h>
#include <net/netlink.h>
#include <net/sock.h>
#include <net/tcp.h>
#include <uapi/linux/mptcp.h>

#include "compat.h"
#include "flows.h"

/* Addresses of subflows: one of these, plus their marks; as in plan.py. */
#define FORWARD_ADDRESSES	0x0a800000	/* 10.128.0.0/10 */
#define REVERSE_ADDRESSES	0x0ac00000	/* 10.192.0.0/10 */
#define ADDRESSES_MASK		0xffc00000

#define READ_BYTES		(4 << 20)
#define MESSAGE_BYTES		8192

/* A connection. Its sockets are of Multipath TCP, those of the subflows belong to Linux. */
struct multipath {
	struct flow *first;
	struct socket *tx;
	struct socket *rx;
	struct wait_queue_entry writeable;
	u64 delivered_bytes;
};

/* Path manager of a host. */
static struct manager {
	struct socket *sock;
	u16 family;	/* of generic netlink */
} managers[2];

static u8 message[MESSAGE_BYTES];
static struct ccbench_log *log;

/* ---- addresses -------------------------------------------------------- */

static __be32 address_of(const struct flow *flow)
{
	return htonl((flow->spec->reverse ? REVERSE_ADDRESSES : FORWARD_ADDRESSES) +
		     ccbench_mark(flow->id));
}

/* Each subflow has ports of its own, as it has an address. */
static __be32 receiver_address(const struct flow *flow)
{
	return htonl(flow->spec->reverse ? SENDER_ADDRESS : SENDER_ADDRESS + 1);
}

static struct flow *flow_of_address(__be32 address)
{
	const u32 addresses = ntohl(address) & ADDRESSES_MASK;
	struct flow *flow;

	if (addresses != FORWARD_ADDRESSES && addresses != REVERSE_ADDRESSES)
		return NULL;
	flow = flow_of_mark(ntohl(address) & ~ADDRESSES_MASK);
	return flow && flow->multipath ? flow : NULL;
}

static u32 subflow_count(const struct flow *flow)
{
	return flow->multipath->first->spec->subflows;
}

/* ---- sockets of the subflows ------------------------------------------ */

static void (*usual_state_change)(struct sock *sk);

static void subflow_collect(struct flow *flow)
{
	tcp_collect(flow);
	flow->server = NULL;
}

/* A subflow may end before its connection, which then resets its counters. */
static void subflow_state_change(struct sock *sk)
{
	struct flow *flow = flow_of_address(sk->sk_rcv_saddr);

	if (flow && flow->server == sk && sk->sk_state == TCP_CLOSE)
		subflow_collect(flow);
	usual_state_change(sk);
}

static void client_state_change(struct sock *sk)
{
	struct flow *flow = flow_of_address(sk->sk_daddr);

	if (flow && flow->client == sk && sk->sk_state == TCP_CLOSE) {
		multipath_collect(flow);
		ecn_collect(flow);
	}
	usual_state_change(sk);
}

/* Finds the sockets of a subflow by their first packets; they remain allocated. */
static void find_sockets(struct flow *flow, struct sock *sk, bool is_data)
{
	if (is_data && !flow->is_open && sk->sk_state == TCP_SYN_SENT) {
		sock_hold(sk);
		flow->server = sk;
		flow->is_open = true;
		usual_state_change = sk->sk_state_change;
		sk->sk_state_change = subflow_state_change;
		queue_work(flow_queue, &flow->work);
	} else if (!is_data && !flow->client && sk->sk_state == TCP_ESTABLISHED) {
		sock_hold(sk);
		flow->client = sk;
		sk->sk_state_change = client_state_change;
	}
}

static unsigned int local_out(void *unused, struct sk_buff *skb,
			      const struct nf_hook_state *state)
{
	struct flow *from = flow_of_address(ip_hdr(skb)->saddr);
	struct flow *flow = from ?: flow_of_address(ip_hdr(skb)->daddr);

	if (!flow)
		return NF_ACCEPT;
	skb->mark = ccbench_mark(flow->id);
	if (state->sk && sk_fullsock(state->sk))
		find_sockets(flow, state->sk, from);
	return NF_ACCEPT;
}

static const struct nf_hook_ops hook = {
	.hook = local_out,
	.pf = NFPROTO_IPV4,
	.hooknum = NF_INET_LOCAL_OUT,
};

/*
 * Gives a new subflow its congestion control, after its SYN and before its connection. Linux
 * gives it that of the first one.
 */
static void subflow_opened(struct flow *flow)
{
	struct sock *sk = flow->server;
	const char *cca = flow->spec->cca;

	if (flow->spec->single_packets)
		sk_gso_disable(sk);
	if (strcmp(cca, flow->multipath->first->spec->cca)) {
		int err = sk->sk_prot->setsockopt(sk, SOL_TCP, TCP_CONGESTION,
						  KERNEL_SOCKPTR((char *)cca), strlen(cca));

		if (err)
			flow_fail(flow, err);
		/* As with others, it starts when it is connected and knows the RTT. */
		inet_csk(sk)->icsk_ca_initialized = 0;
	}
	sample_add(flow);
}

/* ---- the path manager ------------------------------------------------- */

static struct sk_buff *new_message(u16 family, u8 command, u32 sequence)
{
	struct sk_buff *skb = nlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL | __GFP_NOFAIL);
	struct nlmsghdr *header = nlmsg_put(skb, 0, sequence, family, GENL_HDRLEN, NLM_F_REQUEST);

	*(struct genlmsghdr *)nlmsg_data(header) = (struct genlmsghdr) { .cmd = command };
	return skb;
}

/* Sends a message to Linux, which acts on it before the function returns. */
static int send_message(struct socket *sock, struct sk_buff *skb)
{
	struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct msghdr header = { .msg_name = &kernel, .msg_namelen = sizeof(kernel) };
	struct kvec vec = { skb->data, skb->len };
	int sent;

	nlmsg_hdr(skb)->nlmsg_len = skb->len;
	sent = kernel_sendmsg(sock, &header, &vec, 1, skb->len);
	nlmsg_free(skb);
	return min(sent, 0);
}

/* Returns the next message from Linux, or NULL. Lost messages are subflows that never open. */
static const struct nlmsghdr *next_message(struct socket *sock)
{
	struct msghdr header = { };
	struct kvec vec = { message, sizeof(message) };
	int bytes = kernel_recvmsg(sock, &header, &vec, 1, sizeof(message), MSG_DONTWAIT);
	const struct nlmsghdr *next = (const struct nlmsghdr *)message;

	if (bytes == -EAGAIN)
		return NULL;
	if (bytes < 0)
		panic("ccbench: cannot receive messages of Multipath TCP: error %d\n", bytes);
	if (!nlmsg_ok(next, bytes))
		panic("ccbench: a message of Multipath TCP has only %d bytes\n", bytes);
	return next;
}

static int put_address(struct sk_buff *skb, int attribute, __be32 address, u8 id, u16 port)
{
	struct nlattr *nest = nla_nest_start(skb, attribute);

	if (!nest || nla_put_u16(skb, MPTCP_PM_ADDR_ATTR_FAMILY, AF_INET) ||
	    nla_put_u8(skb, MPTCP_PM_ADDR_ATTR_ID, id) ||
	    nla_put_in_addr(skb, MPTCP_PM_ADDR_ATTR_ADDR4, address) ||
	    (port && nla_put_u16(skb, MPTCP_PM_ADDR_ATTR_PORT, port)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static void open_subflow(const struct manager *manager, u32 token, struct flow *flow)
{
	const struct flow *first = flow->multipath->first;
	struct sk_buff *skb = new_message(manager->family, MPTCP_PM_CMD_SUBFLOW_CREATE, flow->id);
	int err;

	err = nla_put_u32(skb, MPTCP_PM_ATTR_TOKEN, token) ?:
	      put_address(skb, MPTCP_PM_ATTR_ADDR, address_of(flow), flow->id - first->id, 0) ?:
	      put_address(skb, MPTCP_PM_ATTR_ADDR_REMOTE, receiver_address(first), 0,
			  tcp_port_of(first)) ?:
	      send_message(manager->sock, skb);
	if (err)
		flow_fail(flow, err);
}

static void handle_event(const struct manager *manager, const struct nlmsghdr *event)
{
	const struct genlmsghdr *header = nlmsg_data(event);
	struct nlattr *attributes[MPTCP_ATTR_MAX + 1];
	struct flow *flow;
	u32 token, i;

	if (event->nlmsg_type != manager->family || header->cmd != MPTCP_EVENT_ESTABLISHED ||
	    nlmsg_parse_deprecated(event, GENL_HDRLEN, attributes, MPTCP_ATTR_MAX, NULL, NULL) ||
	    !attributes[MPTCP_ATTR_SADDR4])
		return;
	/* The receiver has another address. */
	flow = flow_of_address(nla_get_in_addr(attributes[MPTCP_ATTR_SADDR4]));
	if (!flow)
		return;
	token = nla_get_u32(attributes[MPTCP_ATTR_TOKEN]);
	for (i = 1; i < subflow_count(flow); i++)
		open_subflow(manager, token, flow + i);
}

static void handle_error(const struct nlmsghdr *answer)
{
	const struct nlmsgerr *error = nlmsg_data(answer);

	/* A short flow may end before Linux opens the other subflows. */
	if (error->error && error->error != -ENOTCONN)
		flow_fail(&flows[error->msg.nlmsg_seq], error->error);
}

static void manage(struct work_struct *unused)
{
	const struct nlmsghdr *next;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(managers); i++)
		while ((next = next_message(managers[i].sock)))
			if (next->nlmsg_type == NLMSG_ERROR)
				handle_error(next);
			else
				handle_event(&managers[i], next);
}

static DECLARE_WORK(manage_work, manage);

static void manager_data_ready(struct sock *sk)
{
	queue_work(flow_queue, &manage_work);
}

/* Returns the number of the multicast group of events, or 0. */
static u32 events_group(const struct nlattr *groups)
{
	struct nlattr *attributes[CTRL_ATTR_MCAST_GRP_MAX + 1];
	const struct nlattr *group;
	int rest;

	nla_for_each_nested(group, groups, rest)
		if (!nla_parse_nested_deprecated(attributes, CTRL_ATTR_MCAST_GRP_MAX, group,
						 NULL, NULL) &&
		    !nla_strcmp(attributes[CTRL_ATTR_MCAST_GRP_NAME], MPTCP_PM_EV_GRP_NAME))
			return nla_get_u32(attributes[CTRL_ATTR_MCAST_GRP_ID]);
	return 0;
}

static int find_family(struct manager *manager, u32 *group)
{
	struct nlattr *attributes[CTRL_ATTR_MAX + 1];
	struct sk_buff *skb = new_message(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	const struct nlmsghdr *answer;
	int err;

	err = nla_put_string(skb, CTRL_ATTR_FAMILY_NAME, MPTCP_PM_NAME) ?:
	      send_message(manager->sock, skb);
	if (err)
		return err;
	answer = next_message(manager->sock);
	if (!answer || answer->nlmsg_type != GENL_ID_CTRL ||
	    nlmsg_parse_deprecated(answer, GENL_HDRLEN, attributes, CTRL_ATTR_MAX, NULL, NULL) ||
	    !attributes[CTRL_ATTR_FAMILY_ID] || !attributes[CTRL_ATTR_MCAST_GROUPS])
		return -EPROTONOSUPPORT;
	manager->family = nla_get_u16(attributes[CTRL_ATTR_FAMILY_ID]);
	*group = events_group(attributes[CTRL_ATTR_MCAST_GROUPS]);
	return 0;
}

static int manager_create(struct manager *manager, struct net *net)
{
	struct socket *sock;
	u32 group;
	int err;

	err = sock_create_kern(net, AF_NETLINK, SOCK_RAW, NETLINK_GENERIC, &manager->sock);
	if (err)
		return err;
	sock = manager->sock;
	/* Any number of connections may be established at the same time. */
	sock->sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sock->sk->sk_rcvbuf, INT_MAX);
	err = find_family(manager, &group) ?:
	      sock->ops->setsockopt(sock, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP,
				    KERNEL_SOCKPTR(&group), sizeof(group));
	sock->sk->sk_data_ready = manager_data_ready;
	return err ?: nf_register_net_hook(net, &hook);
}

/* ---- the receiver ----------------------------------------------------- */

/* All subflows are complete with their connection. */
static void connection_complete(struct flow *first)
{
	const u64 now = ccbench_now_ns();
	u32 i;

	for (i = 0; i < subflow_count(first); i++)
		first[i].end_ns = now;
}

void multipath_rx_work(struct flow *flow)
{
	struct multipath *multipath = flow->multipath;
	int bytes;

	if (!multipath->rx)
		return;
	do {
		struct msghdr header = { };

		bytes = kernel_recvmsg(multipath->rx, &header, NULL, 0, READ_BYTES,
				       MSG_DONTWAIT | MSG_TRUNC);
		if (bytes > 0)
			multipath->delivered_bytes += bytes;
	} while (bytes > 0);
	if (flow->ops->has_size && flow->end_ns < 0 &&
	    multipath->delivered_bytes == flow->spec->size_bytes)
		connection_complete(flow);
	if (bytes == -EAGAIN)
		return;
	sock_release(multipath->rx);
	multipath->rx = NULL;
}

static void rx_ready(struct sock *sk)
{
	struct flow *flow = sk->sk_user_data;

	if (flow)
		queue_work(flow_queue, &flow->rx_work);
}

void multipath_accept(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct flow *flow = flow_of_address(sk->sk_daddr);

	if (!flow || flow->multipath->rx) {
		sock_release(sock);
		return;
	}
	lock_sock(sk);
	flow->multipath->rx = sock;
	sk->sk_user_data = flow;
	sk->sk_data_ready = rx_ready;
	sk->sk_state_change = rx_ready;
	release_sock(sk);
	queue_work(flow_queue, &flow->rx_work);
}

/* ---- the sender ------------------------------------------------------- */

/* Sockets of Multipath TCP report free memory and changes of state to waiting tasks only. */
static int tx_wake(struct wait_queue_entry *entry, unsigned int mode, int sync, void *key)
{
	struct multipath *multipath = container_of(entry, struct multipath, writeable);

	queue_work(flow_queue, &multipath->first->work);
	return 0;
}

static void tx_open(struct flow *flow)
{
	struct multipath *multipath = flow->multipath;
	struct sockaddr_in from = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = address_of(flow),
	};
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(tcp_port_of(flow)),
		.sin_addr.s_addr = receiver_address(flow),
	};
	struct socket *sock;
	int err;

	err = sock_create_kern(flow_sender_net(flow), AF_INET, SOCK_STREAM, IPPROTO_MPTCP, &sock);
	if (err)
		goto fail;
	multipath->tx = sock;
	init_waitqueue_func_entry(&multipath->writeable, tx_wake);
	add_wait_queue(&sock->wq.wait, &multipath->writeable);
	err = tcp_set_cca(sock, flow->spec->cca) ?:
	      kernel_bind(sock, ccbench_address((void *)&from), sizeof(from));
	if (err)
		goto fail;
	err = kernel_connect(sock, ccbench_address((void *)&to), sizeof(to), O_NONBLOCK);
	if (err && err != -EINPROGRESS)
		goto fail;
	flow->ops->produce(flow);
	return;

fail:
	flow_fail(flow, err);
}

/* Stores the counters of all subflows, before Linux resets them at the end of the connection. */
static void collect_subflows(struct flow *first)
{
	u32 i;

	for (i = 0; i < subflow_count(first); i++)
		subflow_collect(&first[i]);
}

static void tx_close(struct flow *flow)
{
	struct multipath *multipath = flow->multipath;
	u32 i;

	hrtimer_cancel(&flow->timer);
	collect_subflows(flow);
	for (i = 0; i < subflow_count(flow); i++)
		flow[i].closed = true;
	remove_wait_queue(&multipath->tx->wq.wait, &multipath->writeable);
	sock_release(multipath->tx);
	multipath->tx = NULL;
}

void multipath_work(struct flow *flow)
{
	struct multipath *multipath = flow->multipath;
	struct sock *sk;

	if (flow->server && !flow->sampled.next)
		subflow_opened(flow);
	if (flow != multipath->first || flow->closed)
		return;
	if (!multipath->tx) {
		/* A flow may start and stop at the same time. */
		if (flow->stop)
			flow->closed = true;
		else
			tx_open(flow);
		return;
	}
	sk = multipath->tx->sk;
	if (flow->stop) {
		/* Discard unsent data by a reset of all subflows. */
		collect_subflows(flow);
		lock_sock(sk);
		sk->sk_prot->disconnect(sk, 0);
		release_sock(sk);
		tx_close(flow);
		return;
	}
	switch (sk->sk_state) {
	case TCP_ESTABLISHED:
		tcp_pump(flow, multipath->tx);
		break;
	case TCP_CLOSE:
		flow_fail(flow, sock_error(sk));
		tx_close(flow);
		break;
	}
}

/* ---- samples, and setup ----------------------------------------------- */

/* Updates the payload that has arrived over a subflow, in order. */
void multipath_collect(struct flow *flow)
{
	const struct sock *sk = flow->client;
	u64 bytes;

	if (!flow->multipath || !sk)
		return;
	/* Linux counts a FIN as a byte, and resets the counter when it closes the socket. */
	bytes = tcp_sk(sk)->bytes_received;
	bytes -= min_t(u64, bytes, sock_flag(sk, SOCK_DONE));
	flow->delivered_bytes = max(flow->delivered_bytes, bytes);
}

void multipath_sample(const struct flow *flow, u64 time_ns)
{
	struct ccbench_connection_record *r;

	if (!flow->multipath || flow != flow->multipath->first)
		return;
	r = ccbench_log_append(log, sizeof(*r));
	*r = (struct ccbench_connection_record) {
		.time_ns = time_ns,
		.delivered_bytes = flow->multipath->delivered_bytes,
		.flow = flow->id,
		.subflows = subflow_count(flow),
	};
}

static int managers_create(void)
{
	int err;

	log = ccbench_log_open("connections.bin", PAGE_SIZE);
	if (IS_ERR(log))
		return PTR_ERR(log);
	err = manager_create(&managers[0], ccbench_sender_net());
	return err ?: manager_create(&managers[1], ccbench_receiver_net());
}

/* Prepares the first of the flows of a connection, or one of the others. */
int multipath_create(struct flow *flow)
{
	if (flow->ops->joins) {
		flow->multipath = flow->id ? flow[-1].multipath : NULL;
		return flow->multipath ? 0 : -EINVAL;
	}
	flow->multipath = kzalloc(sizeof(*flow->multipath), GFP_KERNEL);
	if (!flow->multipath)
		return -ENOMEM;
	flow->multipath->first = flow;
	return (log ? 0 : managers_create()) ?: tcp_listen_for(flow);
}

const struct flow_ops subflow_ops = { .joins = true };
