// SPDX-License-Identifier: GPL-2.0
/*
 * Reno with one fault each. For tests of the criteria that should find them.
 */
#include <net/tcp.h>

/* State of a connection. */
struct faulty {
	u32 min_rtt_us;	/* smallest round-trip time; 0 before the first */
	u32 last_una;	/* tcp_sock's snd_una at the ACK before */
	u32 share;	/* packets of the window for each acknowledged byte */
	bool stuck;	/* sends two packets in each round-trip time, for ever */
};

static struct faulty *faulty_of(struct sock *sk)
{
	BUILD_BUG_ON(sizeof(struct faulty) > ICSK_CA_PRIV_SIZE);
	return inet_csk_ca(sk);
}

static void faulty_init(struct sock *sk)
{
	*faulty_of(sk) = (struct faulty){};
}

static void limit_if_stuck(struct sock *sk)
{
	if (faulty_of(sk)->stuck) {
		tcp_sk(sk)->snd_ssthresh = 2;
		tcp_snd_cwnd_set(tcp_sk(sk), 2);
	}
}

/* Loss does not matter to it. */
static u32 deaf_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)), 2U);
}

/* Increases forty packets in each round-trip time, and falls by a tenth. */
static void greedy_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_is_cwnd_limited(sk))
		tcp_cong_avoid_ai(tp, max(tcp_snd_cwnd(tp) / 40, 1U), acked);
}

static u32 greedy_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * 9 / 10, 20U);
}

/* A longer path looks like congestion for ever. */
static void lost_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct faulty *faulty = faulty_of(sk);

	if (sample->rtt_us <= 0)
		return;
	if (!faulty->min_rtt_us || sample->rtt_us < faulty->min_rtt_us)
		faulty->min_rtt_us = sample->rtt_us;
	if (sample->rtt_us > faulty->min_rtt_us + 110 * USEC_PER_MSEC)
		faulty->stuck = true;
	limit_if_stuck(sk);
}

static void stuck_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
	limit_if_stuck(sk);
}

/* Keeps at least 120 packets in flight, whatever the path. */
static void standing_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
	tcp_snd_cwnd_set(tcp_sk(sk), max(tcp_snd_cwnd(tcp_sk(sk)), 120U));
}

static u32 standing_ssthresh(struct sock *sk)
{
	return max(tcp_reno_ssthresh(sk), 120U);
}

/* Divides by the packets of an ACK, of which a duplicate has none. */
static void dividing_in_ack_event(struct sock *sk, u32 flags)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 acked = tp->snd_una - faulty_of(sk)->last_una;

	WRITE_ONCE(faulty_of(sk)->share, tcp_snd_cwnd(tp) / acked);
	faulty_of(sk)->last_una = tp->snd_una;
}

/* Reordering, which TCP takes for loss, ends its growth, and is not undone. */
static u32 orderly_ssthresh(struct sock *sk)
{
	return 2;
}

static void orderly_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	tcp_cong_avoid_ai(tcp_sk(sk), 100, acked);
}

static u32 orderly_undo_cwnd(struct sock *sk)
{
	return 2;
}

/* Asks for ECN, and reacts to losses only. */
static u32 marked_ssthresh(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	return tp->lost_out || tp->sacked_out ? tcp_reno_ssthresh(sk) :
						max(tcp_snd_cwnd(tp), 2U);
}

/* Ends its growth after a pause of the application. */
static void tired_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START && tcp_sk(sk)->delivered > 1000)
		faulty_of(sk)->stuck = true;
	limit_if_stuck(sk);
}

/* TCP waits twice as long after each timeout; this makes it wait as before. */
static void restless_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		inet_csk(sk)->icsk_rto = TCP_RTO_MIN;
}

#define RENO						\
		.owner = THIS_MODULE,			\
		.init = faulty_init,			\
		.ssthresh = tcp_reno_ssthresh,		\
		.cong_avoid = tcp_reno_cong_avoid,	\
		.undo_cwnd = tcp_reno_undo_cwnd

static struct tcp_congestion_ops faulty[] = {
	{ .name = "faulty_deaf", RENO, .ssthresh = deaf_ssthresh },
	{ .name = "faulty_greedy", RENO, .ssthresh = greedy_ssthresh, .cong_avoid = greedy_cong_avoid },
	{ .name = "faulty_lost", RENO, .pkts_acked = lost_pkts_acked, .cong_avoid = stuck_cong_avoid },
	{ .name = "faulty_standing", RENO, .ssthresh = standing_ssthresh, .cong_avoid = standing_cong_avoid },
	{ .name = "faulty_dividing", RENO, .in_ack_event = dividing_in_ack_event },
	{ .name = "faulty_orderly", RENO, .ssthresh = orderly_ssthresh, .cong_avoid = orderly_cong_avoid,
	       .undo_cwnd = orderly_undo_cwnd },
	{ .name = "faulty_marked", RENO, .flags = TCP_CONG_NEEDS_ECN, .ssthresh = marked_ssthresh },
	{ .name = "faulty_tired", RENO, .cwnd_event = tired_cwnd_event, .cong_avoid = stuck_cong_avoid },
	{ .name = "faulty_restless", RENO, .cwnd_event = restless_cwnd_event },
};

static int __init faulty_register(void)
{
	int i, error = 0;

	for (i = 0; !error && i < ARRAY_SIZE(faulty); i++)
		error = tcp_register_congestion_control(&faulty[i]);
	return error;
}
module_init(faulty_register);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno with one fault each");
