// SPDX-License-Identifier: GPL-2.0
/*
 * Registration of the variants, and the operations that the kernel calls. A socket's private
 * area is too small for the state of a flow, so it holds a pointer. The pointer is NULL until
 * the connection is established, because the ACK of the SYN precedes init.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "cca_compat.h"
#include "ccbench_describe.h"
#include "nimbus.h"
#include "wave.h"

static struct nimbus *nimbus_of(const struct sock *sk)
{
	return READ_ONCE(*(struct nimbus **)inet_csk_ca(sk));
}

static CONG_CONTROL(nimbus_cong_control, sk, rs)
{
	struct nimbus *nimbus = nimbus_of(sk);

	if (nimbus)
		nimbus_on_ack(sk, nimbus, rs);
}

/* Called before TCP sends, so that the pulse also advances between ACKs. */
static u32 nimbus_min_tso_segs(struct sock *sk)
{
	const struct nimbus *nimbus = nimbus_of(sk);

	if (nimbus) {
		nimbus_pace(sk, nimbus);
		nimbus_limit_burst(sk);
	}
	return NIMBUS_BURST;
}

/* TCP calls this only to reduce the window. */
static u32 nimbus_ssthresh(struct sock *sk)
{
	struct nimbus *nimbus = nimbus_of(sk);

	if (nimbus)
		nimbus_on_reduction(nimbus);
	return tcp_sk(sk)->snd_ssthresh;
}

static void nimbus_set_state(struct sock *sk, u8 new_state)
{
	struct nimbus *nimbus = nimbus_of(sk);

	if (nimbus && new_state == TCP_CA_Loss)
		nimbus_on_timeout(nimbus);
}

static void nimbus_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct nimbus *nimbus = nimbus_of(sk);

	if (nimbus && event == CA_EVENT_TX_START)
		nimbus_after_pause(sk, nimbus);
}
CCA_TX_START(nimbus_cwnd_event)

static u32 nimbus_undo_cwnd(struct sock *sk)
{
	struct nimbus *nimbus = nimbus_of(sk);

	if (nimbus)
		nimbus_on_undo(nimbus);
	return max(tcp_snd_cwnd(tcp_sk(sk)), tcp_sk(sk)->prior_cwnd);
}

static size_t nimbus_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct nimbus *nimbus = nimbus_of(sk);

	return nimbus ? nimbus_info(nimbus, ext, attr, info) : 0;
}

static struct tcp_congestion_ops nimbus_without_memory __read_mostly = {
	.name		= "nimbus",
	.owner		= THIS_MODULE,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
};

/* A variant of NimbusCC: its name and its algorithm in each mode. */
struct nimbus_variant {
	const char *name;
	enum nimbus_competitive_kind competitive;
	enum nimbus_delay_kind delay;
	struct tcp_congestion_ops ops;	/* filled from nimbus_ops at module init */
};

static struct nimbus_variant variants[] __read_mostly = {
	{ .name = "nimbus", .competitive = NIMBUS_CUBIC, .delay = NIMBUS_BASIC },
	{ .name = "nimbus_reno", .competitive = NIMBUS_RENO, .delay = NIMBUS_BASIC },
	{ .name = "nimbus_vegas", .competitive = NIMBUS_CUBIC, .delay = NIMBUS_VEGAS },
	{ .name = "nimbus_copa", .competitive = NIMBUS_CUBIC, .delay = NIMBUS_COPA },
};

static void nimbus_init(struct sock *sk)
{
	const struct nimbus_variant *variant =
		container_of(inet_csk(sk)->icsk_ca_ops, struct nimbus_variant, ops);
	struct nimbus *nimbus = nimbus_begin(sk, variant->competitive, variant->delay);

	if (nimbus)
		*(struct nimbus **)inet_csk_ca(sk) = nimbus;
	else
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &nimbus_without_memory);
}

static void nimbus_release(struct sock *sk)
{
	struct nimbus *nimbus = nimbus_of(sk);

	/* Readers of the state must not see a freed pointer. */
	WRITE_ONCE(*(struct nimbus **)inet_csk_ca(sk), NULL);
	if (nimbus)
		nimbus_end(sk, nimbus);
}

/* The operations of all variants; each has its own name. */
static const struct tcp_congestion_ops nimbus_ops __initconst = {
	.owner		= THIS_MODULE,
	.init		= nimbus_init,
	.release	= nimbus_release,
	.cong_control	= nimbus_cong_control,
	.min_tso_segs	= nimbus_min_tso_segs,
	.ssthresh	= nimbus_ssthresh,
	.set_state	= nimbus_set_state,
	CCA_EVENTS(nimbus_cwnd_event),
	.undo_cwnd	= nimbus_undo_cwnd,
	.get_info	= nimbus_get_info,
};

/* Unregisters the first @count variants, in reverse order. */
static void nimbus_unregister_variants(size_t count)
{
	while (count--)
		tcp_unregister_congestion_control(&variants[count].ops);
}

static int __init nimbus_register_variants(void)
{
	size_t i;
	int error;

	for (i = 0; i < ARRAY_SIZE(variants); i++) {
		variants[i].ops = nimbus_ops;
		strscpy(variants[i].ops.name, variants[i].name,
			sizeof(variants[i].ops.name));
		error = tcp_register_congestion_control(&variants[i].ops);
		if (error) {
			nimbus_unregister_variants(i);
			return error;
		}
	}
	return 0;
}

static int __init nimbus_register(void)
{
	int error;

	BUILD_BUG_ON(sizeof(struct nimbus *) > ICSK_CA_PRIV_SIZE);
	nimbus_wave_init();
	error = nimbus_settings_register();
	if (error)
		return error;
	error = nimbus_register_variants();
	if (error)
		nimbus_settings_unregister();
	return error;
}

static void __exit nimbus_unregister(void)
{
	nimbus_unregister_variants(ARRAY_SIZE(variants));
	nimbus_settings_unregister();
}

module_init(nimbus_register);
module_exit(nimbus_unregister);

MODULE_DESCRIPTION("NimbusCC: congestion control by the elasticity of the cross traffic");
MODULE_LICENSE("GPL");

/* struct tcp_nimbus_info */
#define INFO	CCA_INFO("mode:u8:competitive/delay|role:u8:watcher/pulser/paused|eta:u16:0.01|" \
			 "mu_mbps:u32:0.001|z_mbps:s32:0.001|send_mbps:u32:0.001|" \
			 "receive_mbps:u32:0.001")

CCBENCH_CCA(nimbus, INFO, "NimbusCC: CUBIC against elastic cross traffic, otherwise BasicDelay");
CCBENCH_CCA(nimbus_reno, INFO, "NimbusCC with NewReno in the TCP-competitive mode");
CCBENCH_CCA(nimbus_vegas, INFO, "NimbusCC with Vegas in the delay mode");
CCBENCH_CCA(nimbus_copa, INFO, "NimbusCC with Copa in the delay mode");
