/* SPDX-License-Identifier: GPL-2.0 */
/* Differences between kernels (6.1 and later). */
#ifndef _CCBENCH_COMPAT_H
#define _CCBENCH_COMPAT_H

#include <linux/bvec.h>
#include <linux/hrtimer.h>
#include <linux/in.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/uio.h>
#include <linux/version.h>
#include <net/sch_generic.h>

/* Linux 6.13 sets the function of a timer together with its clock. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* Linux 6.12 replaces the feature flag of lockless transmission. */
static inline void ccbench_set_lockless_xmit(struct net_device *dev)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
	dev->features |= NETIF_F_LLTX;
#else
	dev->lltx = true;
#endif
}

/*
 * Sends bytes from one repeated page of zeroes, without a copy. Returns the number of sent
 * bytes or a negative errno; never sleeps. Linux 6.5 made splicing a flag of sendmsg.
 */
#define CCBENCH_SEND_PAGES	32

static inline int ccbench_send_zeroes(struct socket *sock, struct page *zeroes, size_t bytes)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
	size_t sent = 0;

	while (sent < bytes) {
		size_t part = min_t(size_t, bytes - sent, PAGE_SIZE);
		bool more = sent + part < bytes;
		int n = kernel_sendpage(sock, zeroes, 0, part, MSG_DONTWAIT |
					(more ? MSG_MORE | MSG_SENDPAGE_NOTLAST : 0));

		if (n <= 0)
			return sent ?: n;
		sent += n;
	}
	return sent;
#else
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_SPLICE_PAGES };
	struct bio_vec pages[CCBENCH_SEND_PAGES];
	unsigned int count;

	bytes = min_t(size_t, bytes, CCBENCH_SEND_PAGES * PAGE_SIZE);
	for (count = 0; count * PAGE_SIZE < bytes; count++)
		bvec_set_page(&pages[count], zeroes, PAGE_SIZE, 0);
	iov_iter_bvec(&msg.msg_iter, ITER_SOURCE, pages, count, bytes);
	return sock_sendmsg(sock, &msg);
#endif
}

/* Linux 6.19 gives addresses a type of their own. */
static inline void *ccbench_address(struct sockaddr_storage *address)
{
	return address;
}

/* Until Linux 6.17, the first arguments of a lookup of a socket are the network and its table. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define CCBENCH_SOCKETS(net)	(net)->ipv4.tcp_death_row.hashinfo,
#else
#define CCBENCH_SOCKETS(net)
#endif

/*
 * Sets the size of a packet for qdiscs. Since Linux 6.19 this includes the number of segments,
 * which segmentation copies from the whole to each of them.
 */
static inline void ccbench_set_size(struct sk_buff *skb)
{
	qdisc_skb_cb(skb)->pkt_len = skb->len;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 19, 0)
	qdisc_skb_cb(skb)->pkt_segs = 1;
#endif
}

/*
 * Since Linux 6.19, some qdiscs leave packets that they drop at a departure in a list, the last
 * one first, for whoever runs the qdisc. Returns them in the order of their drops. The caller
 * holds the lock of the qdisc and frees them.
 */
static inline struct sk_buff *ccbench_dropped_at_departure(struct Qdisc *q)
{
	struct sk_buff *first = NULL;
#ifdef TCQ_F_DEQUEUE_DROPS
	struct sk_buff *skb, *next;

	if (likely(!(q->flags & TCQ_F_DEQUEUE_DROPS)))
		return NULL;
	for (skb = q->to_free; skb; skb = next) {
		next = skb->next;
		skb->next = first;
		first = skb;
	}
	q->to_free = NULL;
#endif
	return first;
}

#endif /* _CCBENCH_COMPAT_H */
