// SPDX-License-Identifier: GPL-2.0
/*
 * Guard of a user's congestion controls. They may write to the window, the threshold, the
 * pacing rate and their private area, but not to what TCP itself counts: a hook that does
 * changes what is sent, or what is measured, so the first such call ends the run.
 *
 * The hooks in the module's own structure are replaced by functions that call them and
 * compare TCP's fields before and after.
 */
#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "cca_compat.h"
#include "current_cca.h"
#include "flows.h"
#include "tcp_fields.h"

#define MAX_GUARDED	64
/* Size of what follows the private area, and does not change during a hook. */
#define BEYOND_BYTES	16
/* Size of what follows the room of get_info, and its content. */
#define BEYOND_INFO_BYTES	256
#define UNWRITTEN		0xa5
/* Hooks in interrupts of hooks, and during their calls of TCP; deeper ones have no images. */
#define DEEPEST_HOOK	8

static char *guarded_ccas;
module_param_named(guarded, guarded_ccas, charp, 0);
MODULE_PARM_DESC(guarded, "Congestion controls whose hooks are checked, separated by commas");

/* Operations of a module, of which the guard has replaced the hooks, and the hooks themselves. */
static struct guarded {
	struct tcp_congestion_ops *ops;
	struct tcp_congestion_ops own;
} guarded[MAX_GUARDED];
static u32 guarded_count;

/* A packet in flight: its sequence numbers, marks, and the state of rate samples. */
struct in_flight {
	const struct sk_buff *skb;	/* NULL: none */
	u64 sent_ns;
	u32 bytes;
	u8 cb[sizeof_field(struct sk_buff, cb)];
};

/* Images of the hook's own socket, of one of its packets, and of the socket of another flow. */
struct images {
	struct image own, other;
	struct in_flight packet;
};

/* State before the call of a hook. */
struct snapshot {
	const struct guarded *guarded;
	const struct sock *sk;
	const char *hook;
	enum image_right right;
	struct images *images;		/* NULL: none */
	struct snapshot *outer;		/* of the hook that has called a function of TCP, or NULL */
	const struct tcp_congestion_ops *ops;
#define MEMBER(name)	typeof_member(struct tcp_sock, name) name;
	TCP_FIELDS(MEMBER)
#undef MEMBER
#define CONNECTION_MEMBER(name)	u32 name;
	CONNECTION_BITS(CONNECTION_MEMBER)
	CONNECTION_FIELDS(CONNECTION_MEMBER)
#undef CONNECTION_MEMBER
#define SOCKET_MEMBER(name)	typeof_member(struct sock, name) name;
	SOCKET_FIELDS(SOCKET_MEMBER)
#undef SOCKET_MEMBER
	struct in_flight first, last;
	struct written others[OTHERS];
	u8 state;
	u8 beyond[BEYOND_BYTES];
	struct context context;
};

static struct snapshot *innermost;
static struct images pool[DEEPEST_HOOK];
static u32 depth;

static const u8 *beyond_private_area(const struct tcp_sock *tp)
{
	return (const u8 *)&tp->inet_conn + sizeof(tp->inet_conn);
}

static const struct guarded *guarded_of(const struct sock *sk)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	u32 i;

	for (i = 0; i < guarded_count; i++)
		if (guarded[i].ops == ops)
			return &guarded[i];
	panic("ccbench: congestion control %s of flow %u: at %llu ns, icsk_ca_ops of struct inet_connection_sock is changed outside of init\n",
	      ops->name, ccbench_flow(sk->sk_mark), ccbench_now_ns());
}

static void take_packet(struct in_flight *packet, const struct sk_buff *skb)
{
	packet->skb = skb;
	if (!skb)
		return;
	packet->sent_ns = skb->skb_mstamp_ns;
	packet->bytes = skb->len;
	memcpy(packet->cb, skb->cb, sizeof(packet->cb));
}

static bool is_packet_changed(const struct in_flight *packet)
{
	return packet->skb && (packet->sent_ns != packet->skb->skb_mstamp_ns ||
			       packet->bytes != packet->skb->len ||
			       memcmp(packet->cb, packet->skb->cb, sizeof(packet->cb)));
}

/* Packets in flight, in the order of their transmission: the oldest and the newest. */
static void take_packets(struct snapshot *snapshot, const struct tcp_sock *tp)
{
	const struct list_head *sent = &tp->tsorted_sent_queue;
	const bool none = list_empty(sent);

	take_packet(&snapshot->first, none ? NULL :
		    list_first_entry(sent, struct sk_buff, tcp_tsorted_anchor));
	take_packet(&snapshot->last, none ? NULL :
		    list_last_entry(sent, struct sk_buff, tcp_tsorted_anchor));
}

static __cold void fail(const struct snapshot *before, const struct sock *sk, const char *problem)
{
	panic("ccbench: congestion control %s of flow %u: at %llu ns, its hook %s %s\n",
	      before->guarded->own.name, ccbench_flow(sk->sk_mark), ccbench_now_ns(),
	      before->hook, problem);
}

/* Returns one of the packets that are not acknowledged, each time another one, or NULL. */
static const struct sk_buff *any_packet(const struct sock *sk)
{
	static u32 calls;
	const struct rb_node *node = sk->tcp_rtx_queue.rb_node, *last = NULL;
	u32 turns = hash_32(calls++, BITS_PER_TYPE(u32));

	for (; node; turns = ror32(turns, 1)) {
		last = node;
		/* Most are near the leaves. */
		if (turns % 16 == 0)
			break;
		node = turns & BIT(4) ? node->rb_left : node->rb_right;
	}
	return last ? rb_to_skb(last) : NULL;
}

static void take_images(struct snapshot *snapshot, const struct sock *sk)
{
	const struct sock *other = sockets_next(sk);

	snapshot->images = &pool[depth - 1];
	image_take(&snapshot->images->own, sk);
	take_packet(&snapshot->images->packet, any_packet(sk));
	snapshot->images->other.sk = NULL;
	if (other)
		image_take(&snapshot->images->other, other);
}

/* Notes the state before a hook, which has a right to change its own socket. */
static void take_for(struct snapshot *snapshot, const struct sock *sk, const char *hook,
		     enum image_right right)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const bool has_images = right != IMAGE_CONTROL || image_is_due();

	snapshot->outer = innermost;
	innermost = snapshot;
	snapshot->guarded = guarded_of(sk);
	snapshot->sk = sk;
	snapshot->hook = hook;
	snapshot->right = right;
	if (unlikely(!sockets_is_possible(sk)))
		fail(snapshot, sk, "is called with a window, an ssthresh or a pacing rate of 0, or a window of 2^31 packets or more, which has been set since the last call of a hook, as by a timer or a thread");
	snapshot->ops = inet_csk(sk)->icsk_ca_ops;
#define TAKE(name)	snapshot->name = tp->name;
	TCP_FIELDS(TAKE)
#undef TAKE
#define TAKE_CONNECTION(name)	snapshot->name = tp->inet_conn.name;
	CONNECTION_BITS(TAKE_CONNECTION)
	CONNECTION_FIELDS(TAKE_CONNECTION)
#undef TAKE_CONNECTION
#define TAKE_SOCKET(name)	snapshot->name = sk->name;
	SOCKET_FIELDS(TAKE_SOCKET)
#undef TAKE_SOCKET
	snapshot->state = sk->sk_state;
	take_packets(snapshot, tp);
	sockets_take_others(snapshot->others, sk);
	memcpy(snapshot->beyond, beyond_private_area(tp), BEYOND_BYTES);
	snapshot->images = NULL;
	if (++depth <= DEEPEST_HOOK && unlikely(has_images))
		take_images(snapshot, sk);
	context_enter(&snapshot->context);
}

static void take(struct snapshot *snapshot, const struct sock *sk, const char *hook)
{
	take_for(snapshot, sk, hook, IMAGE_CONTROL);
}

/* Compares with the images, which also have fields without a name here. */
static void check_images(const struct snapshot *before, const struct sock *sk)
{
	const struct images *images = before->images;
	const char *difference = image_difference(&images->own, before->right);
	char problem[192];

	if (unlikely(difference)) {
		snprintf(problem, sizeof(problem), "changes %s, %s", difference,
			 before->right == IMAGE_CONTROL ? "which belongs to TCP" :
			 "and may only observe: the result would depend on how often it is called");
		fail(before, sk, problem);
	}
	difference = images->other.sk ? image_difference(&images->other, IMAGE_PRIVATE) : NULL;
	if (unlikely(difference)) {
		snprintf(problem, sizeof(problem),
			 "changes %s of flow %u, whose socket it has not locked", difference,
			 ccbench_flow(images->other.sk->sk_mark));
		fail(before, sk, problem);
	}
}

static void check(const struct snapshot *before, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const char *left = context_leave(&before->context);

	innermost = before->outer;
	depth--;
	if (unlikely(left))
		fail(before, sk, left);
	BUILD_BUG_ON(offsetofend(struct inet_connection_sock, icsk_ca_priv) !=
		     sizeof(struct inet_connection_sock));
	if (unlikely(memcmp(before->beyond, beyond_private_area(tp), BEYOND_BYTES)))
		fail(before, sk, "writes beyond its private area (ICSK_CA_PRIV_SIZE), to the first fields of struct tcp_sock");
	if (unlikely(before->ops != inet_csk(sk)->icsk_ca_ops))
		fail(before, sk, "changes icsk_ca_ops of struct inet_connection_sock, which only init may do");
#define DIFFERS(name, now, structure) \
	if (unlikely(memcmp(&before->name, &(now), sizeof(before->name)))) \
		fail(before, sk, \
		     "changes the field " #name " of " structure ", which belongs to TCP");
#define CHECK(name)	DIFFERS(name, tp->name, "struct tcp_sock")
	TCP_FIELDS(CHECK)
#undef CHECK
#define CHECK_CONNECTION(name) \
	if (unlikely(before->name != tp->inet_conn.name)) \
		fail(before, sk, "changes the field " #name \
		     " of struct inet_connection_sock, which belongs to TCP");
	CONNECTION_BITS(CHECK_CONNECTION)
	CONNECTION_FIELDS(CHECK_CONNECTION)
#undef CHECK_CONNECTION
#define CHECK_SOCKET(name)	DIFFERS(name, sk->name, "struct sock")
	SOCKET_FIELDS(CHECK_SOCKET)
#undef CHECK_SOCKET
#undef DIFFERS
	if (unlikely(before->state != sk->sk_state))
		fail(before, sk, "changes sk->sk_state, which belongs to TCP");
	if (unlikely(is_packet_changed(&before->first) || is_packet_changed(&before->last) ||
		     (before->images && is_packet_changed(&before->images->packet))))
		fail(before, sk, "changes a packet in flight (its time of transmission, length or skb->cb), which belongs to TCP");
	if (unlikely(!sockets_are_unchanged(before->others)))
		fail(before, sk, "sets the window, ssthresh, pacing rate, RTT or RTO of another flow, whose socket it has not locked");
	if (unlikely(!tp->snd_cwnd || !tp->snd_ssthresh))
		fail(before, sk, "sets a window or an ssthresh of 0 packets");
	/* Linux takes the number as signed. */
	if (unlikely((s32)tp->snd_cwnd < 0))
		fail(before, sk, "sets a window of 2^31 packets or more");
	if (unlikely(!sk->sk_pacing_rate))
		fail(before, sk, "sets a pacing rate of 0");
	if (unlikely(before->images))
		check_images(before, sk);
}

/* ---- functions of TCP that user's modules may call, and that change its fields ---- */

/* Returns the hook that calls one for its socket, or NULL. */
static struct snapshot *tcp_begins(struct sock *sk)
{
	struct snapshot *calling = innermost && innermost->sk == sk ? innermost : NULL;

	if (calling)
		check(calling, sk);
	else
		calls_end_image();
	return calling;
}

static void tcp_ends(struct snapshot *calling, struct sock *sk)
{
	if (calling)
		take_for(calling, sk, calling->hook, calling->right);
}

void ccbench_enter_cwr(struct sock *sk);
void ccbench_send_ack(struct sock *sk, u32 rcv_nxt, u16 flags);

void ccbench_enter_cwr(struct sock *sk)
{
	struct snapshot *calling = tcp_begins(sk);

	tcp_enter_cwr(sk);
	tcp_ends(calling, sk);
}
EXPORT_SYMBOL(ccbench_enter_cwr);

/* Before some stable releases, it has no flags, and ignores them. */
void ccbench_send_ack(struct sock *sk, u32 rcv_nxt, u16 flags)
{
	void (*send)(struct sock *sk, u32 rcv_nxt, u16 flags) = (void *)__tcp_send_ack;
	struct snapshot *calling = tcp_begins(sk);

	send(sk, rcv_nxt, flags);
	tcp_ends(calling, sk);
}
EXPORT_SYMBOL(ccbench_send_ack);

/* ---- hooks ------------------------------------------------------------ */

#define GUARD(hook, parameters, ...) \
	static void checked_##hook parameters \
	{ \
		struct snapshot before; \
		\
		take(&before, sk, #hook); \
		before.guarded->own.hook(__VA_ARGS__); \
		check(&before, sk); \
	}

/* Hooks that return a number, of packets or bytes, and the least one. */
#define GUARD_NUMBER(hook, least) \
	static u32 checked_##hook(struct sock *sk) \
	{ \
		struct snapshot before; \
		u32 number; \
		\
		take(&before, sk, #hook); \
		number = before.guarded->own.hook(sk); \
		check(&before, sk); \
		if (unlikely(number < (least) || (s32)number < 0)) \
			fail(&before, sk, "returns less than " #least ", or 2^31 or more"); \
		return number; \
	}

GUARD(cong_avoid, (struct sock *sk, u32 ack, u32 acked), sk, ack, acked)
GUARD(set_state, (struct sock *sk, u8 state), sk, state)
GUARD(cwnd_event, (struct sock *sk, enum tcp_ca_event event), sk, event)
GUARD(in_ack_event, (struct sock *sk, u32 flags), sk, flags)
GUARD(pkts_acked, (struct sock *sk, const struct ack_sample *sample), sk, sample)
GUARD_NUMBER(min_tso_segs, 1)
GUARD_NUMBER(sndbuf_expand, 1)
/* RFC 5681, equation 4. */
GUARD_NUMBER(ssthresh, 2)
GUARD_NUMBER(undo_cwnd, 1)
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
GUARD(cwnd_event_tx_start, (struct sock *sk), sk)
#endif

/* Linux has room for the union, on its stack. */
static size_t checked_get_info(struct sock *sk, u32 ext, int *attribute, union tcp_cc_info *info)
{
	struct snapshot before;
	struct {
		union tcp_cc_info info;
		u8 beyond[BEYOND_INFO_BYTES];
	} room;
	size_t bytes;

	room.info = *info;
	memset(room.beyond, UNWRITTEN, sizeof(room.beyond));
	take_for(&before, sk, "get_info", IMAGE_NOTHING);
	bytes = before.guarded->own.get_info(sk, ext, attribute, &room.info);
	check(&before, sk);
	if (unlikely(bytes > sizeof(room.info) ||
		     memchr_inv(room.beyond, UNWRITTEN, sizeof(room.beyond))))
		fail(&before, sk, "writes or returns more than union tcp_cc_info has bytes");
	memcpy(info, &room.info, bytes);
	return bytes;
}

/* Also of congestion controls without these two hooks. */
static void checked_init(struct sock *sk)
{
	struct snapshot before;

	take(&before, sk, "init");
	if (before.guarded->own.init)
		before.guarded->own.init(sk);
	if (before.ops == inet_csk(sk)->icsk_ca_ops)
		sockets_opened(sk);
	/* It may refuse a connection by a change to other hooks, as DCTCP of Linux without ECN. */
	before.ops = inet_csk(sk)->icsk_ca_ops;
	check(&before, sk);
}

static void checked_release(struct sock *sk)
{
	struct snapshot before;

	take(&before, sk, "release");
	if (before.guarded->own.release)
		before.guarded->own.release(sk);
	check(&before, sk);
	if (unlikely(!memory_ends(inet_csk_ca(sk), ICSK_CA_PRIV_SIZE)))
		fail(&before, sk, "leaves a timer in its private area running");
	sockets_released(sk);
}

static CONG_CONTROL(checked_cong_control, sk, rs)
{
	struct snapshot before;

	take(&before, sk, "cong_control");
	CALL_CONG_CONTROL(&before.guarded->own, sk, rs);
	check(&before, sk);
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

	image_create();
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
