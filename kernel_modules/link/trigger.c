// SPDX-License-Identifier: GPL-2.0
/*
 * Conditions of changes: the n-th packet of a flow leaves its host, or the flow's congestion
 * control enters a state.
 *
 * The state is compared whenever a packet of the flow leaves the sending host, and after one
 * has arrived there, which are the times at which TCP can change it but for its timers. The
 * socket is that of the last packet.
 */
#include <linux/inet_diag.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <net/sock.h>
#include <net/tcp.h>

#include "link.h"

struct trigger {
	const struct ccbench_trigger *spec;
	struct trigger *next;		/* of the same flow */
	u32 change;
	void (*occurred)(u32 change);
	u32 count;			/* times that the condition was met */
	bool met;
};

/* A flow with triggers. */
struct watched_flow {
	struct trigger *first;
	struct sock *sk;		/* of the sender; NULL before its first packet */
	u64 packets;			/* that left the sender */
};

struct watched_flow *watched_flows;

static s64 number_at(const u8 *bytes, const struct ccbench_trigger *spec)
{
	const u32 unused_bits = BITS_PER_BYTE * (sizeof(u64) - spec->bytes);
	u64 value = 0;

	memcpy(&value, bytes + spec->offset, spec->bytes);	/* little endian */
	value <<= unused_bits;
	return spec->is_signed ? (s64)value >> unused_bits : value >> unused_bits;
}

static bool is_met(const struct ccbench_trigger *spec, struct sock *sk)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	union tcp_cc_info info = { };
	int attribute = 0;
	s64 value;

	if (spec->kind == CCBENCH_TRIGGER_TCP_STATE) {
		value = inet_csk(sk)->icsk_ca_state;
	} else {
		if (!ops->get_info || !ops->get_info(sk, U32_MAX, &attribute, &info))
			return false;
		value = number_at((const u8 *)&info, spec);
	}
	return spec->low <= value && value <= spec->high;
}

static void compare_state(struct watched_flow *flow)
{
	struct sock *sk = flow->sk;
	struct trigger *trigger;

	/* UDP has no state, and the congestion control none before the handshake. */
	if (!sk || sk->sk_protocol != IPPROTO_TCP || !inet_csk(sk)->icsk_ca_initialized ||
	    sk->sk_state == TCP_CLOSE)
		return;
	for (trigger = flow->first; trigger; trigger = trigger->next) {
		const struct ccbench_trigger *spec = trigger->spec;
		const bool was_met = trigger->met;

		if (spec->kind == CCBENCH_TRIGGER_PACKET)
			continue;
		trigger->met = is_met(spec, sk);
		if (trigger->met && !was_met && ++trigger->count == spec->count)
			trigger->occurred(trigger->change);
	}
}

static void count_packet(struct watched_flow *flow)
{
	struct trigger *trigger;

	flow->packets++;
	for (trigger = flow->first; trigger; trigger = trigger->next)
		if (trigger->spec->kind == CCBENCH_TRIGGER_PACKET &&
		    trigger->spec->count == flow->packets)
			trigger->occurred(trigger->change);
}

void trigger_packet_leaves(const struct sk_buff *skb)
{
	struct watched_flow *flow = &watched_flows[ccbench_flow(skb->mark)];

	if (!flow->first)
		return;
	count_packet(flow);
	if (skb->sk && sk_fullsock(skb->sk) && skb->sk != flow->sk) {
		if (flow->sk)
			sock_put(flow->sk);
		flow->sk = skb->sk;
		sock_hold(flow->sk);
	}
	compare_state(flow);
}

void trigger_packet_arrived(u32 flow)
{
	struct watched_flow *watched = &watched_flows[flow];

	if (watched->first)
		compare_state(watched);
}

int trigger_add(const struct ccbench_link_header *header, const struct ccbench_trigger *spec,
		u32 change, void (*occurred)(u32 change))
{
	struct trigger *trigger, **end;

	if (spec->flow >= header->flows || !spec->count ||
	    spec->offset + spec->bytes > sizeof(union tcp_cc_info))
		return -EINVAL;
	if (!watched_flows)
		watched_flows = kvcalloc(header->flows, sizeof(*watched_flows), GFP_KERNEL);
	trigger = kzalloc(sizeof(*trigger), GFP_KERNEL);
	if (!watched_flows || !trigger)
		return -ENOMEM;
	trigger->spec = spec;
	trigger->change = change;
	trigger->occurred = occurred;
	/* Changes after the same event take effect in their order. */
	for (end = &watched_flows[spec->flow].first; *end; end = &(*end)->next)
		;
	*end = trigger;
	return 0;
}
