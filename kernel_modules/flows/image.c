// SPDX-License-Identifier: GPL-2.0
/*
 * Images of whole sockets, which find each change of a field by a user's module. What it may
 * change is listed; all else belongs to TCP or the application.
 *
 * An image costs as much as a hook, so most calls have none.
 */
#include <linux/interrupt.h>
#include <linux/kernel_stat.h>
#include <linux/sched.h>
#include <linux/version.h>
#include <net/tcp.h>

#include "flows.h"
#include "tcp_fields.h"

/* The first calls have an image, and then one of so many. A prime: calls have periods. */
#define FIRST_CALLS	1024
#define CALLS		17

#define WORDS		(sizeof(struct tcp_sock) / sizeof(u64))
#define LONGEST_TEXT	80

/* Of each right, ones in what must not change. */
static struct tcp_sock masks[IMAGE_RIGHTS];

bool image_is_due(void)
{
	static u32 calls;

	return ++calls <= FIRST_CALLS || !(calls % CALLS) || memory_is_filled();
}

/* Changes when a softirq or another task has run, which may be TCP. */
static u64 interruptions(void)
{
	u64 count = current->nvcsw + current->nivcsw;
	u32 i;

	for (i = 0; i < NR_SOFTIRQS; i++)
		count += kstat_softirqs_cpu(i, smp_processor_id());
	return count;
}

void image_take(struct image *image, const struct sock *sk)
{
	image->sk = sk;
	image->interruptions = interruptions();
	memcpy(&image->copy, tcp_sk(sk), sizeof(image->copy));
}

bool image_is_void(const struct image *image)
{
	return image->interruptions != interruptions();
}

/* ---- names ------------------------------------------------------------ */

static const struct field {
	const char *name, *structure;
	size_t offset, bytes;
} fields[] = {
#define TCP(name)	{ #name, "struct tcp_sock", offsetof(struct tcp_sock, name), \
			  sizeof_field(struct tcp_sock, name) },
	TCP_FIELDS(TCP) SET_FIELDS(TCP)
#define CONNECTION(name)	{ #name, "struct inet_connection_sock", \
				  offsetof(struct inet_connection_sock, name), \
				  sizeof_field(struct inet_connection_sock, name) },
	CONNECTION_FIELDS(CONNECTION) CONNECTION(icsk_ca_ops) CONNECTION(icsk_ca_priv)
#define SOCKET(name)	{ #name, "struct sock", offsetof(struct sock, name), \
			  sizeof_field(struct sock, name) },
	SOCKET_FIELDS(SOCKET) SET_SOCKET_FIELDS(SOCKET)
};

static __cold const char *name_at(size_t offset)
{
	static char text[LONGEST_TEXT];
	u32 i;

	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		if (offset - fields[i].offset >= fields[i].bytes)
			continue;
		snprintf(text, sizeof(text), "the field %s of %s", fields[i].name,
			 fields[i].structure);
		return text;
	}
	snprintf(text, sizeof(text), "byte %zu of %s", offset,
		 offset < sizeof(struct sock) ? "struct sock" :
		 offset < sizeof(struct inet_connection_sock) ? "struct inet_connection_sock" :
		 "struct tcp_sock");
	return text;
}

const char *image_difference(const struct image *image, enum image_right right)
{
	const u64 *before = (const u64 *)&image->copy, *now = (const u64 *)image->sk;
	const u64 *mask = (const u64 *)&masks[right];
	u32 i;

	if (image_is_void(image))
		return NULL;
	for (i = 0; i < WORDS; i++) {
		const u64 changed = (before[i] ^ now[i]) & mask[i];

		if (unlikely(changed))
			return name_at(i * sizeof(u64) + __ffs64(changed) / BITS_PER_BYTE);
	}
	return NULL;
}

/* ---- rights ----------------------------------------------------------- */

#define ALLOW(field)	memset(&(field), 0, sizeof(field))

/* References to a socket, and links to others, which change with their neighbours. */
static void allow_links(struct tcp_sock *mask)
{
	struct inet_connection_sock *connection = &mask->inet_conn;
	struct sock *sk = (struct sock *)mask;

	ALLOW(sk->sk_refcnt);
	ALLOW(sk->sk_cookie);
	ALLOW(sk->sk_node);
	ALLOW(sk->sk_bind_node);
	ALLOW(sk->sk_lock);
	ALLOW(sk->sk_timer);
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	ALLOW(connection->icsk_retransmit_timer);
#endif
	ALLOW(connection->icsk_delack_timer);
	ALLOW(connection->icsk_keepalive_timer);
	ALLOW(mask->pacing_timer);
	ALLOW(mask->compressed_ack_timer);
	ALLOW(mask->tsq_node);
}

/* What congestion controls decide: window, threshold, pacing, ECN and the path. */
static void allow_control(struct tcp_sock *mask)
{
	struct sock *sk = (struct sock *)mask;

#define ALLOW_FIELD(name)	ALLOW(mask->name);
	SET_FIELDS(ALLOW_FIELD)
#define ALLOW_SOCKET(name)	ALLOW(sk->name);
	SET_SOCKET_FIELDS(ALLOW_SOCKET)
	ALLOW(inet_sk(sk)->tos);
	ALLOW(mask->inet_conn.icsk_ca_ops);	/* compared by the guard */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0)
	ALLOW(mask->plb_rehash);
#endif
}

void image_create(void)
{
	BUILD_BUG_ON(sizeof(struct tcp_sock) % sizeof(u64));
	memset(masks, 0xff, sizeof(masks));
	allow_links(&masks[IMAGE_NOTHING]);
	masks[IMAGE_PRIVATE] = masks[IMAGE_NOTHING];
	ALLOW(masks[IMAGE_PRIVATE].inet_conn.icsk_ca_priv);
	masks[IMAGE_CONTROL] = masks[IMAGE_PRIVATE];
	allow_control(&masks[IMAGE_CONTROL]);
}
