// SPDX-License-Identifier: GPL-2.0
/*
 * Guard of a user's congestion controls. They may write to the window, the threshold, the
 * pacing rate and their private area, but not to what TCP itself counts: a hook that does
 * changes what is sent, or what is measured, so the first such call ends the run.
 *
 * The hooks in the module's own structure are replaced by functions that call them and
 * compare TCP's fields before and after.
 */
#include <linux/module.h>
#include <net/tcp.h>

#include "cca_compat.h"
#include "current_cca.h"
#include "flows.h"

#define MAX_GUARDED	16
/* Size of what follows the private area, and does not change during a hook. */
#define BEYOND_BYTES	16

static char *guarded_ccas;
module_param_named(guarded, guarded_ccas, charp, 0);
MODULE_PARM_DESC(guarded, "Congestion controls whose hooks are checked, separated by commas");

/* Operations of a module, of which the guard has replaced the hooks, and the hooks themselves. */
static struct guarded {
	struct tcp_congestion_ops *ops;
	struct tcp_congestion_ops own;
} guarded[MAX_GUARDED];
static u32 guarded_count;

/* Fields of struct tcp_sock that belong to TCP. */
#define FIELDS(field) \
	field(snd_una) field(snd_nxt) field(write_seq) field(rcv_nxt) field(copied_seq) \
	field(snd_wnd) field(max_window) field(packets_out) field(sacked_out) field(lost_out) \
	field(retrans_out) field(delivered) field(delivered_ce) field(bytes_acked) \
	field(bytes_sent) field(bytes_received) field(total_retrans) field(srtt_us) \
	field(mdev_us) field(rttvar_us) field(rtt_min) field(reordering) field(mss_cache)

/* Fields of struct inet_connection_sock that belong to TCP; some are bits. */
#define CONNECTION_FIELDS(field) \
	field(icsk_ca_state) field(icsk_retransmits) field(icsk_backoff) field(icsk_rto)

struct snapshot {
#define MEMBER(name)	typeof_member(struct tcp_sock, name) name;
	FIELDS(MEMBER)
#undef MEMBER
#define CONNECTION_MEMBER(name)	u32 name;
	CONNECTION_FIELDS(CONNECTION_MEMBER)
#undef CONNECTION_MEMBER
	u8 beyond[BEYOND_BYTES];
	u8 state;
	struct context context;
};

static const u8 *beyond_private_area(const struct tcp_sock *tp)
{
	return (const u8 *)&tp->inet_conn + sizeof(tp->inet_conn);
}

static void take(struct snapshot *snapshot, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

#define TAKE(name)	snapshot->name = tp->name;
	FIELDS(TAKE)
#undef TAKE
#define TAKE_CONNECTION(name)	snapshot->name = tp->inet_conn.name;
	CONNECTION_FIELDS(TAKE_CONNECTION)
#undef TAKE_CONNECTION
	memcpy(snapshot->beyond, beyond_private_area(tp), BEYOND_BYTES);
	snapshot->state = sk->sk_state;
	context_enter(&snapshot->context);
}

static __cold void fail(const struct sock *sk, const char *hook, const char *problem)
{
	panic("ccbench: congestion control %s of flow %u: at %llu ns, its hook %s %s\n",
	      inet_csk(sk)->icsk_ca_ops->name, ccbench_flow(sk->sk_mark), ccbench_now_ns(), hook,
	      problem);
}

static void check(const struct snapshot *before, const struct sock *sk, const char *hook)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const char *left = context_leave(&before->context);

	if (unlikely(left))
		fail(sk, hook, left);
	BUILD_BUG_ON(offsetofend(struct inet_connection_sock, icsk_ca_priv) !=
		     sizeof(struct inet_connection_sock));
	if (unlikely(memcmp(before->beyond, beyond_private_area(tp), BEYOND_BYTES)))
		fail(sk, hook, "writes beyond its private area (ICSK_CA_PRIV_SIZE)");
#define CHECK(name) \
	if (unlikely(memcmp(&before->name, &tp->name, sizeof(tp->name)))) \
		fail(sk, hook, "changes the field " #name " of struct tcp_sock, which belongs to TCP");
	FIELDS(CHECK)
#undef CHECK
#define CHECK_CONNECTION(name) \
	if (unlikely(before->name != tp->inet_conn.name)) \
		fail(sk, hook, "changes the field " #name \
		     " of struct inet_connection_sock, which belongs to TCP");
	CONNECTION_FIELDS(CHECK_CONNECTION)
#undef CHECK_CONNECTION
	if (unlikely(before->state != sk->sk_state))
		fail(sk, hook, "changes sk->sk_state, which belongs to TCP");
	if (unlikely(!tp->snd_cwnd || !tp->snd_ssthresh))
		fail(sk, hook, "sets a window or an ssthresh of 0 packets");
	/* Linux takes the number as signed. */
	if (unlikely((s32)tp->snd_cwnd < 0))
		fail(sk, hook, "sets a window of 2^31 packets or more");
	if (unlikely(!sk->sk_pacing_rate))
		fail(sk, hook, "sets a pacing rate of 0");
}

/* ---- sockets that have ended ------------------------------------------ */

#define ENDED	64

/* The last sockets that have ended, which are not freed yet. Nobody may write to them. */
static struct ended {
	struct sock *sk;	/* NULL: none */
	u32 cwnd;
	u32 ssthresh;
	unsigned long pacing_rate;
	u64 private[ICSK_CA_PRIV_SIZE / sizeof(u64)];
} ended[ENDED];
static u32 next_ended;
static u32 open_sockets;

static bool is_unchanged(const struct ended *entry)
{
	const struct tcp_sock *tp = tcp_sk(entry->sk);

	return tp->snd_cwnd == entry->cwnd && tp->snd_ssthresh == entry->ssthresh &&
	       entry->sk->sk_pacing_rate == entry->pacing_rate &&
	       !memcmp(inet_csk_ca(entry->sk), entry->private, ICSK_CA_PRIV_SIZE);
}

static void check_ended(const struct ended *entry)
{
	if (entry->sk && unlikely(!is_unchanged(entry)))
		panic("ccbench: congestion control %s of flow %u: its window, pacing rate or private area is written after release, when the socket has ended, by a pointer that is left in a timer or a global variable\n",
		      inet_csk(entry->sk)->icsk_ca_ops->name, ccbench_flow(entry->sk->sk_mark));
}

static void keep_ended(struct sock *sk)
{
	struct ended *entry = &ended[next_ended];
	struct sock *oldest = entry->sk;

	check_ended(entry);
	sock_hold(sk);
	memory_fill(&tcp_sk(sk)->snd_cwnd, sizeof(tcp_sk(sk)->snd_cwnd));
	memory_fill(&tcp_sk(sk)->srtt_us, sizeof(tcp_sk(sk)->srtt_us));
	memory_fill(inet_csk_ca(sk), ICSK_CA_PRIV_SIZE);
	*entry = (struct ended) {
		.sk = sk,
		.cwnd = tcp_sk(sk)->snd_cwnd,
		.ssthresh = tcp_sk(sk)->snd_ssthresh,
		.pacing_rate = sk->sk_pacing_rate,
	};
	memcpy(entry->private, inet_csk_ca(sk), ICSK_CA_PRIV_SIZE);
	next_ended = (next_ended + 1) % ENDED;
	if (oldest)
		sock_put(oldest);
}

bool guard_ends(void)
{
	u32 i;

	for (i = 0; i < ENDED; i++) {
		struct sock *sk = ended[i].sk;

		check_ended(&ended[i]);
		ended[i].sk = NULL;
		if (sk)
			sock_put(sk);
	}
	return !open_sockets;
}

/* ---- hooks ------------------------------------------------------------ */

static const struct tcp_congestion_ops *own_hooks(const struct sock *sk)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	u32 i = 0;

	while (guarded[i].ops != ops)
		i++;
	return &guarded[i].own;
}

#define GUARD(hook, parameters, ...) \
	static void checked_##hook parameters \
	{ \
		struct snapshot before; \
		\
		take(&before, sk); \
		own_hooks(sk)->hook(__VA_ARGS__); \
		check(&before, sk, #hook); \
	}

#define GUARD_VALUE(type, hook, parameters, ...) \
	static type checked_##hook parameters \
	{ \
		struct snapshot before; \
		type value; \
		\
		take(&before, sk); \
		value = own_hooks(sk)->hook(__VA_ARGS__); \
		check(&before, sk, #hook); \
		return value; \
	}

/* Hooks that return a number, of packets or bytes, and the least one. */
#define GUARD_NUMBER(hook, least) \
	static u32 checked_##hook(struct sock *sk) \
	{ \
		struct snapshot before; \
		u32 number; \
		\
		take(&before, sk); \
		number = own_hooks(sk)->hook(sk); \
		check(&before, sk, #hook); \
		if (unlikely(number < (least) || (s32)number < 0)) \
			fail(sk, #hook, "returns less than " #least ", or 2^31 or more"); \
		return number; \
	}

GUARD(cong_avoid, (struct sock *sk, u32 ack, u32 acked), sk, ack, acked)
GUARD(set_state, (struct sock *sk, u8 state), sk, state)
GUARD(cwnd_event, (struct sock *sk, enum tcp_ca_event event), sk, event)
GUARD(in_ack_event, (struct sock *sk, u32 flags), sk, flags)
GUARD(pkts_acked, (struct sock *sk, const struct ack_sample *sample), sk, sample)
GUARD_NUMBER(min_tso_segs, 1)
GUARD_NUMBER(sndbuf_expand, 1)
GUARD_VALUE(size_t, get_info, (struct sock *sk, u32 ext, int *attribute, union tcp_cc_info *info),
	    sk, ext, attribute, info)
/* RFC 5681, equation 4. */
GUARD_NUMBER(ssthresh, 2)
GUARD_NUMBER(undo_cwnd, 1)
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
GUARD(cwnd_event_tx_start, (struct sock *sk), sk)
#endif

/* Also of congestion controls without these two hooks. */
static void checked_init(struct sock *sk)
{
	const struct tcp_congestion_ops *own = own_hooks(sk);
	struct snapshot before;

	open_sockets++;
	take(&before, sk);
	if (own->init)
		own->init(sk);
	check(&before, sk, "init");
}

static void checked_release(struct sock *sk)
{
	const struct tcp_congestion_ops *own = own_hooks(sk);
	struct snapshot before;

	take(&before, sk);
	if (own->release)
		own->release(sk);
	check(&before, sk, "release");
	if (unlikely(!memory_ends(inet_csk_ca(sk), ICSK_CA_PRIV_SIZE)))
		fail(sk, "release", "leaves a timer in its private area running");
	/* Linux also releases what it has not initialised, such as listeners. */
	if (inet_csk(sk)->icsk_ca_initialized)
		open_sockets--;
	/* Otherwise, it changes its congestion control. */
	if (sock_flag(sk, SOCK_DEAD) && sk->sk_state == TCP_CLOSE)
		keep_ended(sk);
}

static CONG_CONTROL(checked_cong_control, sk, rs)
{
	const struct tcp_congestion_ops *own = own_hooks(sk);
	struct snapshot before;

	take(&before, sk);
	CALL_CONG_CONTROL(own, sk, rs);
	check(&before, sk, "cong_control");
}

static void guard_hooks(struct tcp_congestion_ops *ops)
{
	guarded[guarded_count++] = (struct guarded) { ops, *ops };
#define REPLACE(hook)	(ops->hook = ops->hook ? checked_##hook : NULL)
	REPLACE(cong_avoid);
	REPLACE(cong_control);
	REPLACE(ssthresh);
	REPLACE(set_state);
	REPLACE(cwnd_event);
	REPLACE(in_ack_event);
	REPLACE(pkts_acked);
	REPLACE(min_tso_segs);
	REPLACE(undo_cwnd);
	REPLACE(sndbuf_expand);
	REPLACE(get_info);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	REPLACE(cwnd_event_tx_start);
#endif
#undef REPLACE
	ops->init = checked_init;
	ops->release = checked_release;
}

int guard_create(void)
{
	const struct tcp_congestion_ops *ops;
	char *rest = guarded_ccas, *name;

	while ((name = strsep(&rest, ",")) && *name) {
		if (guarded_count == MAX_GUARDED)
			return -E2BIG;
		ops = current_cca_get(name);
		if (IS_ERR(ops))
			return PTR_ERR(ops);
		if (!ops->owner)
			panic("ccbench: congestion control %s of all flows: it has no .owner = THIS_MODULE, without which Linux may unload it while it is used\n",
			      name);
		guard_hooks((struct tcp_congestion_ops *)ops);
	}
	return 0;
}
