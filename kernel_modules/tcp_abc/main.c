// SPDX-License-Identifier: GPL-2.0
/*
 * The sender of ABC (Goyal et al., "ABC: A Simple Explicit Congestion Controller
 * for Wireless Networks", NSDI 2020).
 *
 * Routers mark each packet with one bit: its ACK should either accelerate the sender
 * (one more packet in flight) or brake it (one packet less). The sender has two
 * windows and uses the smaller one:
 *
 *	w_abc		follows the marks and in addition grows by one packet per RTT,
 *			for fairness between flows:
 *				accelerate: w += 1 + 1/w,  brake: w += -1 + 1/w
 *	w_nonabc	CUBIC's window, for drops by routers without ABC
 *
 * Both are at most twice the packets in flight, so that the unused window stays close
 * to the other. Behind an ABC bottleneck this also limits slow start, which has no
 * HyStart here. In recovery from losses, packets are conserved (RFC 9937, recovery.h).
 *
 * This file implements the encoding for proxied networks; ns.c and accecn.c implement the
 * other one. A sender marks packets ECN-capable, which means accelerate. A router changes
 * the mark to a brake by setting CE, which the receiver echoes in ECE for each packet
 * (echo.c), as a receiver with DCTCP does. ECE therefore is no congestion signal here, and
 * the stack's own reduction and CWR are suppressed.
 *
 * ssthresh is unused otherwise and reports w_nonabc in whole packets, so that common
 * tools show both windows; cwnd is the smaller one.
 */
#include <linux/inet_diag.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/netns/generic.h>

#include "abc_compat.h"
#include "ccbench_describe.h"
#include "recovery.h"
#include "tcp_abc.h"
#include "tcp_abc_info.h"

/* A receiver may delay the ACK until a second packet. */
#define MIN_WINDOW		(2 * ABC_PACKET)
#define DEFAULT_INCREASE	1
#define MAX_INCREASE		100

/* ---- settings --------------------------------------------------------- */

/* Settings of a network namespace, copied when a connection is established. */
struct abc_settings {
	u8 increase;
	struct ctl_table_header *header;
};

static unsigned int settings_id __read_mostly;

static const unsigned int max_increase = MAX_INCREASE;

static struct ctl_table settings_template[] = {
	{
		.procname	= "tcp_abc_increase",
		.maxlen		= sizeof(u8),
		.mode		= 0644,
		.proc_handler	= proc_dou8vec_minmax,
		.extra1		= SYSCTL_ZERO,
		.extra2		= (void *)&max_increase,
	},
	{ }
};

static int __net_init settings_init(struct net *net)
{
	struct abc_settings *settings = net_generic(net, settings_id);
	struct ctl_table *table;

	settings->increase = DEFAULT_INCREASE;
	if (!IS_ENABLED(CONFIG_SYSCTL))
		return 0;
	table = kmemdup(settings_template, sizeof(settings_template), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	table[0].data = &settings->increase;
	settings->header = cca_register_sysctl(net, table, ARRAY_SIZE(settings_template) - 1);
	if (!settings->header) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit settings_exit(struct net *net)
{
	struct abc_settings *settings = net_generic(net, settings_id);
	const struct ctl_table *table;

	if (!settings->header)
		return;
	table = settings->header->ctl_table_arg;
	unregister_net_sysctl_table(settings->header);
	kfree(table);
}

static struct pernet_operations settings_ops = {
	.init = settings_init,
	.exit = settings_exit,
	.id = &settings_id,
	.size = sizeof(struct abc_settings),
};

/* ---- processing of ACKs ----------------------------------------------- */

void abc_init(struct sock *sk)
{
	const struct abc_settings *settings = net_generic(sock_net(sk), settings_id);
	struct tcp_sock *tp = tcp_sk(sk);
	struct abc *abc = abc_of(sk);

	*abc = (struct abc) {
		.window = tcp_snd_cwnd(tp) * ABC_PACKET,
		.bytes_acked = tp->bytes_acked,
		.echo_rcv_nxt = tp->rcv_nxt,
		.reduced_until = tp->snd_una,
		.increase = settings->increase,
		.ecn = (tp->ecn_flags & ABC_ECN_MODES) == TCP_ECN_OK,
	};
	cubic_init(&abc->cubic, tcp_snd_cwnd(tp));
}
EXPORT_SYMBOL_GPL(abc_init);

/*
 * Returns the newly delivered packets. Acknowledged bytes are precise while packets
 * arrive in order. Otherwise an ACK that fills a gap covers packets whose marks were
 * already echoed by selective ACKs, so each ACK counts the packets that it reports.
 */
static u64 newly_delivered(const struct tcp_sock *tp, struct abc *abc,
			   const struct rate_sample *rs)
{
	const u32 bytes = tp->bytes_acked - abc->bytes_acked;
	const bool sacked = tp->sacked_out || abc->sacked;

	abc->bytes_acked = tp->bytes_acked;
	abc->sacked = tp->sacked_out;
	if (sacked)
		return rs->acked_sacked * ABC_PACKET;
	return div_u64((u64)bytes << ABC_SHIFT, max(tp->mss_cache, 1U));
}

/* Equation (3) of the paper. */
static void follow_marks(struct abc *abc, u64 delivered, u32 braked_share, u64 cap)
{
	u64 window = abc->window + mul_u64_u64_div_u64(delivered, abc->increase * ABC_PACKET,
						       abc->window);
	const u64 braked = delivered * braked_share >> ABC_SHIFT;

	window += delivered - braked;
	window = window > braked ? window - braked : 0;
	abc->window = clamp(window, MIN_WINDOW, cap);
}

static void count(struct abc *abc, u32 packets, u32 braked_share)
{
	const u32 braked = ((u64)packets * braked_share + ABC_PACKET / 2) >> ABC_SHIFT;

	abc->braked += braked;
	abc->accelerated += packets - braked;
}

/* Cancels the stack's reaction to ECE, because a brake is not congestion. */
static void cancel_ece(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	tp->ecn_flags &= ~TCP_ECN_QUEUE_CWR;
	if (icsk->icsk_ca_state == TCP_CA_CWR)
		icsk->icsk_ca_state = TCP_CA_Open;
}

/* Reacts to a mark by a router without ABC, once per window of data. */
static void answer_congestion(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct abc *abc = abc_of(sk);

	WRITE_ONCE(abc->congested, false);
	if (inet_csk(sk)->icsk_ca_state > TCP_CA_CWR || before(tp->snd_una, abc->reduced_until))
		return;
	cubic_reduce(&abc->cubic);
	abc->reduced_until = tp->snd_nxt;
	WRITE_ONCE(abc->reduced, true);
}

static void set_windows(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct abc *abc = abc_of(sk);
	u32 packets = min(abc->window, abc->cubic.window) >> ABC_SHIFT;

	packets = recovery_window(sk, rs, packets, 0);
	tcp_snd_cwnd_set(tp, clamp(packets, 1U, tp->snd_cwnd_clamp));
	tp->snd_ssthresh = min_t(u64, abc->cubic.window >> ABC_SHIFT, TCP_INFINITE_SSTHRESH);
}

void abc_control(struct sock *sk, const struct rate_sample *rs, u32 braked_share)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct abc *abc = abc_of(sk);
	u64 delivered, cap;
	u32 in_flight;

	/* The ACK of the SYN precedes abc_init(). */
	if (!abc->window)
		return;
	/* Packets in flight before this ACK, including those wrongly marked lost. */
	in_flight = max(rs->prior_in_flight, tcp_packets_in_flight(tp) + rs->acked_sacked);
	cap = max(2 * in_flight * ABC_PACKET, MIN_WINDOW);
	delivered = newly_delivered(tp, abc, rs);
	cancel_ece(sk);
	if (READ_ONCE(abc->congested))
		answer_congestion(sk);
	if (delivered) {
		count(abc, rs->acked_sacked, braked_share);
		follow_marks(abc, delivered, braked_share, cap);
		if (inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
			cubic_grow(&abc->cubic, delivered, cap,
				   div_u64(tp->tcp_mstamp, USEC_PER_MSEC),
				   (tp->srtt_us >> 3) / USEC_PER_MSEC);
	}
	set_windows(sk, rs);
}
EXPORT_SYMBOL_GPL(abc_control);

CONG_CONTROL(abc_cong_control, sk, rs)
{
	abc_control(sk, rs, abc_of(sk)->brake ? ABC_PACKET : 0);
}
EXPORT_SYMBOL_GPL(abc_cong_control);

void abc_in_ack_event(struct sock *sk, u32 flags)
{
	struct abc *abc = abc_of(sk);

	abc->brake = abc->ecn && flags & CA_ACK_ECE;
}
EXPORT_SYMBOL_GPL(abc_in_ack_event);

void abc_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_ECN_IS_CE)
		abc_echo(sk, true);
	else if (event == CA_EVENT_ECN_NO_CE)
		abc_echo(sk, false);
}
EXPORT_SYMBOL_GPL(abc_cwnd_event);

/* ---- losses ----------------------------------------------------------- */

void abc_set_state(struct sock *sk, u8 new_state)
{
	const u8 old_state = inet_csk(sk)->icsk_ca_state;
	struct abc *abc = abc_of(sk);

	if (new_state == old_state)
		return;
	if (new_state == TCP_CA_Recovery)
		cubic_reduce(&abc->cubic);
	else if (new_state == TCP_CA_Loss)
		cubic_timeout(&abc->cubic, old_state != TCP_CA_Recovery);
}
EXPORT_SYMBOL_GPL(abc_set_state);

u32 abc_undo_cwnd(struct sock *sk)
{
	struct abc *abc = abc_of(sk);

	cubic_undo(&abc->cubic);
	return max_t(u32, min(abc->window, abc->cubic.window) >> ABC_SHIFT, 1);
}
EXPORT_SYMBOL_GPL(abc_undo_cwnd);

/* The windows do not use ssthresh. */
u32 abc_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}
EXPORT_SYMBOL_GPL(abc_ssthresh);

/* ---- state for inet_diag ---------------------------------------------- */

size_t abc_get_info(struct sock *sk, u32 extensions, int *attribute, union tcp_cc_info *info)
{
	const struct abc *abc = abc_of(sk);
	struct tcp_abc_info *state = (struct tcp_abc_info *)info;

	BUILD_BUG_ON(sizeof(*state) > sizeof(*info));
	if (!(extensions & BIT(INET_DIAG_VEGASINFO - 1)))
		return 0;
	*state = (struct tcp_abc_info) {
		.w_abc = abc->window >> ABC_SHIFT,
		.w_nonabc = abc->cubic.window >> ABC_SHIFT,
		.accelerated = abc->accelerated,
		.braked = abc->braked,
		.ecn = abc->ecn,
		.increase = abc->increase,
		.echo = abc->echo,
	};
	*attribute = INET_DIAG_ABCINFO;
	return sizeof(*state);
}
EXPORT_SYMBOL_GPL(abc_get_info);

/* ---- registration ----------------------------------------------------- */

/*
 * For connections without ECN at the other end. With abc_ops, the stack would mark
 * packets ECN-capable, which routers take for an ABC mark.
 */
static struct tcp_congestion_ops abc_without_ecn __read_mostly = {
	.in_ack_event	= abc_in_ack_event,
	.cong_control	= abc_cong_control,
	.set_state	= abc_set_state,
	.ssthresh	= abc_ssthresh,
	.undo_cwnd	= abc_undo_cwnd,
	.get_info	= abc_get_info,
	.owner		= THIS_MODULE,
	.name		= "abc",
};

static void abc_proxied_init(struct sock *sk)
{
	abc_init(sk);
	if (!abc_of(sk)->ecn) {
		abc_stop_accecn(tcp_sk(sk));
		inet_csk(sk)->icsk_ca_ops = &abc_without_ecn;
	}
}

static struct tcp_congestion_ops abc_ops __read_mostly = {
	.flags		= TCP_CONG_NEEDS_ECN,
	.init		= abc_proxied_init,
	.in_ack_event	= abc_in_ack_event,
	.cwnd_event	= abc_cwnd_event,
	.cong_control	= abc_cong_control,
	.set_state	= abc_set_state,
	.ssthresh	= abc_ssthresh,
	.undo_cwnd	= abc_undo_cwnd,
	.get_info	= abc_get_info,
	.owner		= THIS_MODULE,
	.name		= "abc",
};

static int __init abc_register(void)
{
	int err;

	BUILD_BUG_ON(sizeof(struct abc) > ICSK_CA_PRIV_SIZE);
	err = register_pernet_subsys(&settings_ops);
	if (err)
		return err;
	err = tcp_register_congestion_control(&abc_ops);
	if (err)
		unregister_pernet_subsys(&settings_ops);
	return err;
}

static void __exit abc_unregister(void)
{
	tcp_unregister_congestion_control(&abc_ops);
	unregister_pernet_subsys(&settings_ops);
}

module_init(abc_register);
module_exit(abc_unregister);

CCBENCH_CCA(abc,
	    CCA_NEEDS_RECEIVER CCA_EXCLUDES(accecn) CCA_QDISC(abc, encoding, proxied) ABC_INFO,
	    "Accel-Brake Control, with CE as the brake");
MODULE_DESCRIPTION("Accel-Brake Control: TCP sender and receiver");
MODULE_LICENSE("GPL");
