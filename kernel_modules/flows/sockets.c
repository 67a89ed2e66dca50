// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets, and what a user's congestion control writes to them. A hook may write to the window of
 * its own socket only, which is locked, and nobody to that of a socket that has ended.
 */
#include <linux/preempt.h>
#include <net/tcp.h>

#include "flows.h"

#define SENDERS	64
#define ENDED	64

/* The first sockets of senders that are open, of all congestion controls. */
static struct sock *senders[SENDERS];
static u32 sender_count;

static u32 open_sockets;

/* The last sockets that have ended, which are not freed yet. */
static struct ended {
	struct written written;
	bool is_final;		/* what is written to it is known */
	u64 private[ICSK_CA_PRIV_SIZE / sizeof(u64)];
} ended[ENDED];
static u32 next_ended;

static void take_written(struct written *written, struct sock *sk)
{
	*written = (struct written) {
		.sk = sk,
		.cwnd = tcp_sk(sk)->snd_cwnd,
		.ssthresh = tcp_sk(sk)->snd_ssthresh,
		.srtt_us = tcp_sk(sk)->srtt_us,
		.rto = inet_csk(sk)->icsk_rto,
		.pacing_rate = sk->sk_pacing_rate,
	};
}

static bool is_unchanged(const struct written *written)
{
	const struct tcp_sock *tp = tcp_sk(written->sk);

	return tp->snd_cwnd == written->cwnd && tp->snd_ssthresh == written->ssthresh &&
	       tp->srtt_us == written->srtt_us && tp->inet_conn.icsk_rto == written->rto &&
	       written->sk->sk_pacing_rate == written->pacing_rate;
}

void sockets_add_sender(struct sock *sk)
{
	if (sender_count < SENDERS)
		senders[sender_count++] = sk;
}

void sockets_remove_sender(struct sock *sk)
{
	u32 i;

	for (i = 0; i < sender_count; i++)
		if (senders[i] == sk)
			senders[i] = senders[--sender_count];
}

bool sockets_is_possible(const struct sock *sk)
{
	/* Linux takes the window as signed. */
	return (s32)tcp_sk(sk)->snd_cwnd > 0 && tcp_sk(sk)->snd_ssthresh && sk->sk_pacing_rate;
}

struct sock *sockets_next(const struct sock *sk)
{
	static u32 next;
	u32 i;

	for (i = 0; i < min(sender_count, 2U); i++) {
		next = (next + 1) % sender_count;
		if (senders[next] != sk)
			return senders[next];
	}
	return NULL;
}

void sockets_take_others(struct written others[OTHERS], const struct sock *sk)
{
	/* Outside of softirqs, packets of another flow may interrupt the hook. */
	u32 i, count = in_softirq() ? min_t(u32, sender_count, OTHERS) : 0;

	for (i = 0; i < OTHERS; i++) {
		struct sock *other = i < count ? sockets_next(sk) : NULL;

		others[i].sk = NULL;
		if (other)
			take_written(&others[i], other);
	}
}

bool sockets_are_unchanged(const struct written others[OTHERS])
{
	u32 i;

	for (i = 0; i < OTHERS; i++)
		if (others[i].sk && unlikely(!is_unchanged(&others[i])))
			return false;
	return true;
}

void sockets_opened(struct sock *sk)
{
	open_sockets++;
}

static void check_ended(const struct ended *entry)
{
	const struct sock *sk = entry->written.sk;

	if (!sk || !entry->is_final)
		return;
	if (likely(is_unchanged(&entry->written) &&
		   !memcmp(inet_csk_ca(sk), entry->private, ICSK_CA_PRIV_SIZE)))
		return;
	panic("ccbench: congestion control %s of flow %u: its window, pacing rate or private area is written after release, when the socket has ended, by a pointer that is left in a timer or a global variable\n",
	      inet_csk(sk)->icsk_ca_ops->name, ccbench_flow(sk->sk_mark));
}

static void finish(struct ended *entry)
{
	struct sock *sk = entry->written.sk;

	memory_fill(&tcp_sk(sk)->snd_cwnd, sizeof(tcp_sk(sk)->snd_cwnd));
	memory_fill(&tcp_sk(sk)->srtt_us, sizeof(tcp_sk(sk)->srtt_us));
	memory_fill(inet_csk_ca(sk), ICSK_CA_PRIV_SIZE);
	take_written(&entry->written, sk);
	memcpy(entry->private, inet_csk_ca(sk), ICSK_CA_PRIV_SIZE);
	entry->is_final = true;
}

static void finish_all(struct work_struct *work)
{
	u32 i;

	for (i = 0; i < ENDED; i++)
		if (ended[i].written.sk && !ended[i].is_final)
			finish(&ended[i]);
}
static DECLARE_WORK(finishing, finish_all);

static void keep_ended(struct sock *sk)
{
	struct ended *entry = &ended[next_ended];
	struct sock *oldest = entry->written.sk;

	check_ended(entry);
	sock_hold(sk);
	*entry = (struct ended) { .written.sk = sk };
	next_ended = (next_ended + 1) % ENDED;
	/* TCP resets a socket that it disconnects, which is the end of a work item. */
	if (sock_flag(sk, SOCK_DEAD))
		finish(entry);
	else
		queue_work(flow_queue, &finishing);
	if (oldest)
		sock_put(oldest);
}

void sockets_released(struct sock *sk)
{
	/* Before Linux 7, also of listeners, and of sockets that it has disconnected. */
	if (!inet_csk(sk)->icsk_ca_initialized)
		return;
	open_sockets--;
	/* Otherwise, it changes its congestion control. */
	if (sk->sk_state == TCP_CLOSE)
		keep_ended(sk);
}

bool sockets_end(void)
{
	u32 i;

	for (i = 0; i < ENDED; i++) {
		struct sock *sk = ended[i].written.sk;

		check_ended(&ended[i]);
		ended[i].written.sk = NULL;
		if (sk)
			sock_put(sk);
	}
	return !open_sockets;
}
