// SPDX-License-Identifier: GPL-2.0
/*
 * Several short flows over one connection. Each is a message: at its time, its bytes are
 * appended to those that the connection still has to send.
 */
#include "flows.h"

static struct ccbench_log *log;

static bool is_impossible(const struct ccbench_flow_spec *spec)
{
	return !spec->messages;
}

static int init(void)
{
	if (log)
		return 0;
	log = ccbench_log_open("messages.bin", PAGE_SIZE);
	return PTR_ERR_OR_ZERO(log);
}

/* Produces the due messages, and waits for the next one. */
static void produce_due(struct flow *flow)
{
	const struct ccbench_message *message;
	u64 now = ccbench_now_ns();

	while (flow->due_messages < flow->spec->messages) {
		message = &flow->messages[flow->due_messages];
		if (message->time_ns > now) {
			flow_timer_start(flow, message->time_ns);
			break;
		}
		flow->produced += message->bytes;
		flow->due_messages++;
	}
	queue_work(flow_queue, &flow->work);
}

static u64 tick(struct flow *flow)
{
	produce_due(flow);
	return NO_TICK;
}

/* Records messages that are complete after the receiver has read. */
static void delivered(struct flow *flow)
{
	struct ccbench_message_record *r;

	while (flow->done_messages < flow->spec->messages) {
		const struct ccbench_message *message = &flow->messages[flow->done_messages];

		if (flow->delivered_bytes < flow->done_bytes + message->bytes)
			break;
		r = ccbench_log_append(log, sizeof(*r));
		*r = (struct ccbench_message_record) {
			.end_ns = ccbench_now_ns(),
			.flow = flow->id,
			.message = flow->done_messages,
		};
		flow->done_bytes += message->bytes;
		flow->done_messages++;
	}
}

const struct flow_ops messages_ops = {
	.is_impossible = is_impossible,
	.init = init,
	.listen = tcp_listen_for,
	.work = tcp_work,
	.produce = produce_due,
	.tick = tick,
	.delivered = delivered,
};
