// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving applications that read at a rate. Data that they have not read fill the receive
 * buffer, and the receive window closes.
 */
#include <linux/math64.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "compat.h"
#include "flows.h"

struct reader {
	struct flow *flow;
	struct hrtimer timer;
	u64 due_bytes;
	u64 rest;		/* rounding error of due_bytes */
};

static enum hrtimer_restart reader_tick(struct hrtimer *timer)
{
	struct reader *reader = container_of(timer, struct reader, timer);
	const struct ccbench_receiver *spec = reader->flow->receiver;

	reader->rest += spec->read_bps * spec->read_interval_ns;
	/* An application that has nothing to read does not catch up. */
	reader->due_bytes = div64_u64_rem(reader->rest, BITS_PER_BYTE * NSEC_PER_SEC,
					  &reader->rest);
	queue_work(flow_queue, &reader->flow->rx_work);
	hrtimer_add_expires_ns(timer, spec->read_interval_ns);
	return HRTIMER_RESTART;
}

void reader_start(struct flow *flow)
{
	const struct ccbench_receiver *spec = flow->receiver;
	struct sock *sk = flow->rx->sk;

	/* Unread data take up the window; half of the buffer is for the overhead of packets. */
	sk->sk_userlocks |= SOCK_RCVBUF_LOCK;
	WRITE_ONCE(sk->sk_rcvbuf, 2 * spec->window_bytes);
	/* Linux 6.1 does not raise the limit of the window with a fixed buffer. */
	WRITE_ONCE(tcp_sk(sk)->window_clamp, tcp_full_space(sk));
	hrtimer_start(&flow->reader->timer,
		      ktime_add_ns(ktime_get(), spec->read_interval_ns), HRTIMER_MODE_ABS_SOFT);
}

bool reader_work(struct flow *flow)
{
	struct sock *sk = flow->rx->sk;
	bool all;

	/* After a reset, there is nothing to read. */
	if (sk->sk_state == TCP_CLOSE)
		return true;
	lock_sock(sk);
	if (flow->reader->due_bytes)
		tcp_rx_read(sk, flow->reader->due_bytes);
	flow->reader->due_bytes = 0;
	all = skb_queue_empty(&sk->sk_receive_queue);
	release_sock(sk);
	return all;
}

void reader_stop(struct flow *flow)
{
	hrtimer_cancel(&flow->reader->timer);
}

int reader_create(struct flow *flow)
{
	struct reader *reader = kzalloc(sizeof(*reader), GFP_KERNEL);

	if (!reader)
		return -ENOMEM;
	reader->flow = flow;
	hrtimer_setup(&reader->timer, reader_tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	flow->reader = reader;
	return 0;
}
