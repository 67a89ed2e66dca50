// SPDX-License-Identifier: GPL-2.0
/*
 * BIC, Scalable TCP, Veno and YeAH as they grow in Linux 5.6 and earlier.
 *
 * An ACK usually acknowledges two packets or more. From Linux 5.7, the increase of these
 * four counts packets. Until then, it counts ACKs:
 *
 *	bic_5_6		A step per ACK. BIC's steps are longer by the mean number of
 *			packets per ACK, which is rounded to 31/16 or more. With delayed
 *			ACKs, BIC therefore grows as designed, and from Linux 5.7 twice
 *			as fast.
 *	scalable_5_6	A step per ACK, and a packet per 50 steps, which assumes two
 *			packets per ACK. From Linux 5.7: a packet per 100 packets.
 *	veno_5_6	A step per ACK.
 *	yeah_5_6	In its Reno mode a step per ACK; see yeah.c.
 *
 * In addition, packets that an ACK acknowledges beyond the end of slow start do not count.
 *
 * The first three are the algorithms of the running kernel, with fewer packets passed to
 * their increase. Parameters are those of the running kernel (module tcp_bic).
 *
 * One difference remains: Veno is Reno for the first two RTT samples of a connection, which
 * counts packets in Linux 5.6, too, but not here.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "ccbench_describe.h"
#include "derived_cca.h"
#include "linux_5_6.h"

#define SCALABLE_ACKS_PER_PACKET	50U

struct older_cca {
	const char *current_name;
	const struct tcp_congestion_ops *current_ops;
	struct tcp_congestion_ops ops;
};

static void grow_as_current(struct sock *sk, u32 ack, u32 acked)
{
	const struct older_cca *cca = container_of(inet_csk(sk)->icsk_ca_ops,
						   struct older_cca, ops);

	cca->current_ops->cong_avoid(sk, ack, acked);
}

/* A step per ACK, except in slow start, which ends without a step. */
static void grow_per_ack(struct sock *sk, u32 ack, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_slow_start(tp))
		acked = min(acked, tp->snd_ssthresh - tcp_snd_cwnd(tp));
	else
		acked = 1;
	grow_as_current(sk, ack, acked);
}

/* Veno is Reno outside the open state, and Reno counts packets. */
static void veno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_Open)
		grow_per_ack(sk, ack, acked);
	else
		grow_as_current(sk, ack, acked);
}

static void scalable_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp))
		tcp_slow_start(tp, acked);
	else
		tcp_cong_avoid_ai(tp, min(tcp_snd_cwnd(tp), SCALABLE_ACKS_PER_PACKET), 1);
}

/* Other operations are copied from the current ones. */
static struct older_cca older[] = {
	{ .current_name = "bic", .ops = { .name = "bic_5_6", .cong_avoid = grow_per_ack } },
	{ .current_name = "scalable",
	  .ops = { .name = "scalable_5_6", .cong_avoid = scalable_cong_avoid } },
	{ .current_name = "veno", .ops = { .name = "veno_5_6", .cong_avoid = veno_cong_avoid } },
};

static int older_register(size_t i)
{
	const struct tcp_congestion_ops *current_ops;
	int err;

	current_ops = derived_cca_complete(&older[i].ops, older[i].current_name);
	if (IS_ERR(current_ops))
		return PTR_ERR(current_ops);
	older[i].current_ops = current_ops;
	err = tcp_register_congestion_control(&older[i].ops);
	if (err)
		current_cca_put(current_ops);
	return err;
}

static void older_unregister(size_t i)
{
	tcp_unregister_congestion_control(&older[i].ops);
	current_cca_put(older[i].current_ops);
}

static int __init linux_5_6_register(void)
{
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(older); i++) {
		err = older_register(i);
		if (err)
			goto fail;
	}
	err = tcp_register_congestion_control(&yeah_5_6);
	if (!err)
		return 0;
fail:
	while (i--)
		older_unregister(i);
	return err;
}

static void __exit linux_5_6_unregister(void)
{
	size_t i = ARRAY_SIZE(older);

	tcp_unregister_congestion_control(&yeah_5_6);
	while (i--)
		older_unregister(i);
}

module_init(linux_5_6_register);
module_exit(linux_5_6_unregister);

MODULE_DESCRIPTION("BIC, Scalable TCP, Veno and YeAH of Linux 5.6 and earlier");
MODULE_LICENSE("GPL");

CCBENCH_CCA(bic_5_6, , "BIC of Linux 5.6 and earlier");
CCBENCH_CCA(scalable_5_6, , "Scalable TCP of Linux 5.6 and earlier");
CCBENCH_CCA(veno_5_6, , "Veno of Linux 5.6 and earlier");
CCBENCH_CCA(yeah_5_6, , "YeAH of Linux 5.6 and earlier");
