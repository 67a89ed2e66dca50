// SPDX-License-Identifier: GPL-2.0
/* UDP flows of all kinds. */
#include <linux/in.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <net/udp.h>

#include "compat.h"
#include "flows.h"

#define PORT		5000
/* Largest packet in pages of payload. */
#define MAX_PAGES	16

/* ---- the receivers: one socket per version of IP and host -------------- */

static int rx_packet(struct sock *sk, struct sk_buff *skb)
{
	struct flow *flow = flow_of_mark(skb->mark);

	if (flow)
		flow->delivered_bytes += skb->len - sizeof(struct udphdr);
	consume_skb(skb);
	return 0;
}

int udp_listen(struct flow *flow)
{
	const int family = flow_family(flow);
	static bool is_open[2][2];
	struct socket *sock;
	int err;

	if (is_open[!flow->spec->reverse][family == AF_INET6])
		return 0;
	is_open[!flow->spec->reverse][family == AF_INET6] = true;
	err = sock_create_kern(flow_receiver_net(flow), family, SOCK_DGRAM,
			       IPPROTO_UDP, &sock);
	if (err)
		return err;
	/* The decapsulation function receives packets without a queue and wake-ups. */
	udp_sk(sock->sk)->encap_type = 1;
	udp_sk(sock->sk)->encap_rcv = rx_packet;
	if (family == AF_INET6)
		udpv6_encap_enable();
	else
		udp_encap_enable();
	return flow_bind(sock, PORT);
}

/* ---- the sender ------------------------------------------------------- */

static void tx_open(struct flow *flow)
{
	const int family = flow_family(flow);
	int err;

	err = sock_create_kern(flow_sender_net(flow), family, SOCK_DGRAM,
			       IPPROTO_UDP, &flow->tx);
	if (!err) {
		flow->tx->sk->sk_mark = ccbench_mark(flow->id);
		if (family == AF_INET6)
			inet6_sk(flow->tx->sk)->tclass = flow->spec->ecn;
		else
			ip_sock_set_tos(flow->tx->sk, flow->spec->ecn);
		err = flow_connect(flow, PORT, 0);
	}
	if (err) {
		flow_fail(flow, err);
		return;
	}
	flow->ops->produce(flow);
	sample_add(flow);
}

size_t udp_payload_bytes(const struct flow *flow)
{
	const size_t ip = flow_family(flow) == AF_INET6 ? sizeof(struct ipv6hdr) :
							  sizeof(struct iphdr);

	return flow->spec->packet_bytes - ip - sizeof(struct udphdr);
}

void udp_send(struct flow *flow, size_t bytes)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	struct kvec pages[MAX_PAGES];
	size_t left = bytes;
	u32 count = 0;

	/* The payload is one repeated page of zeroes. */
	while (left && count < MAX_PAGES) {
		pages[count] = (struct kvec) {
			.iov_base = page_address(zeroes),
			.iov_len = min_t(size_t, left, PAGE_SIZE),
		};
		left -= pages[count++].iov_len;
	}
	if (kernel_sendmsg(flow->tx, &msg, pages, count, bytes) > 0)
		flow->sent_bytes += bytes;
}

void udp_send_full(struct flow *flow)
{
	udp_send(flow, udp_payload_bytes(flow));
}

u64 udp_gap_ns(struct flow *flow)
{
	flow->timer_rest += (u64)flow->spec->packet_bytes * BITS_PER_BYTE * NSEC_PER_SEC;
	return div64_u64_rem(flow->timer_rest, flow->rate_bps, &flow->timer_rest);
}

void udp_work(struct flow *flow)
{
	if (!flow->tx) {
		tx_open(flow);
		return;
	}
	if (flow->stop) {
		hrtimer_cancel(&flow->timer);
		sock_release(flow->tx);
		flow->tx = NULL;
		flow->closed = true;
		return;
	}
	for (; flow->produced && !flow->rate_changed; flow->produced--)
		flow->ops->send(flow);
}
