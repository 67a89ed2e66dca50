// SPDX-License-Identifier: GPL-2.0
/* UDP flows: constant bit rate, Poisson process, or frames, whose packets leave at once. */
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
#define UHZ_PER_HZ	1000000ULL
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

int udp_listen(const struct flow *flow)
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
	if (flow->spec->kind == CCBENCH_FRAMES)
		flow_timer_start(flow, flow->spec->start_ns);
	else
		flow_offer(flow, flow->spec->start_ns);
	sample_add(flow);
}

static size_t header_bytes(const struct flow *flow)
{
	const size_t ip = flow_family(flow) == AF_INET6 ? sizeof(struct ipv6hdr) :
							  sizeof(struct iphdr);

	return ip + sizeof(struct udphdr);
}

static void tx_send(struct flow *flow, size_t bytes)
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

static void tx_send_next(struct flow *flow)
{
	const size_t full = flow->spec->packet_bytes - header_bytes(flow);
	u64 left;

	if (flow->spec->kind != CCBENCH_FRAMES) {
		tx_send(flow, full);
		return;
	}
	for (left = flow->frames[flow->next_frame]; left; left -= min_t(u64, left, full))
		tx_send(flow, min_t(u64, left, full));
	flow->next_frame = (flow->next_frame + 1) % flow->spec->frames;
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
		tx_send_next(flow);
}

enum hrtimer_restart udp_timer(struct hrtimer *timer)
{
	struct flow *flow = container_of(timer, struct flow, timer);
	u64 gap_ns;

	if (flow->spec->kind == CCBENCH_FRAMES) {
		flow->timer_rest += NSEC_PER_SEC * UHZ_PER_HZ;
		gap_ns = div64_u64_rem(flow->timer_rest, flow->spec->frame_uhz, &flow->timer_rest);
	} else {
		flow->timer_rest += (u64)flow->spec->packet_bytes * BITS_PER_BYTE * NSEC_PER_SEC;
		gap_ns = div64_u64_rem(flow->timer_rest, flow->rate_bps, &flow->timer_rest);
	}
	if (flow->spec->kind == CCBENCH_POISSON)
		gap_ns = mul_u64_u64_shr(gap_ns, random_exponential(&flow->gaps), 32);

	flow->produced++;
	queue_work(flow_queue, &flow->work);
	hrtimer_add_expires_ns(timer, gap_ns);
	return HRTIMER_RESTART;
}
