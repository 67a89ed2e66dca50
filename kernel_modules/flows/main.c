// SPDX-License-Identifier: GPL-2.0
/*
 * Setup and course of the experiment.
 *
 * /proc/ccbench/flows takes the description of the traffic (struct ccbench_flows_header and
 * the following data), once. Reading it runs the experiment and returns after its end, when
 * the results are written.
 *
 * As the path, the traffic is never destroyed; the guest ends instead.
 */
#include <linux/delay.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>
#include <linux/vmstat.h>
#include <net/tcp.h>

#include "compat.h"
#include "flows.h"

/* Minimum number of progress reports to the host. */
#define PROGRESS_STEPS	256
#define LONGEST_STEP_NS	NSEC_PER_SEC
/* Time for the last packets of connections that are closed. */
#define CLOSING_MS	2000

static bool close_all;
module_param(close_all, bool, 0);
MODULE_PARM_DESC(close_all, "close all connections at the end, and print the free memory");

#define KIND_OF_NUMBER(number, ops) [number] = &ops,
static const struct flow_ops *const kinds[] = { FLOW_KINDS(KIND_OF_NUMBER) };

struct flow *flows;
u32 flow_count;
struct workqueue_struct *flow_queue;
struct page *zeroes;
u32 mtu_bytes;

/* Start or stop of a flow. */
struct event {
	u64 time_ns;
	struct flow *flow;
	bool stop;
};

static struct event *events;
static u32 event_count, next_event;
static u64 duration_ns;
static u64 epoch_ns;
static struct hrtimer event_timer, progress_timer, end_timer;
static struct ccbench_log *progress_log, *completion_log;
static DECLARE_COMPLETION(finished);

struct flow *flow_of_mark(u32 mark)
{
	u32 flow = ccbench_flow(mark);

	return flow < flow_count ? &flows[flow] : NULL;
}

void flow_fail(struct flow *flow, int error)
{
	flow->error = error;
}

void flow_timer_start(struct flow *flow, u64 time_ns)
{
	hrtimer_start(&flow->timer, ns_to_ktime(epoch_ns + time_ns), HRTIMER_MODE_ABS_SOFT);
}

void flow_offer(struct flow *flow, u64 time_ns)
{
	hrtimer_cancel(&flow->timer);
	if (flow->rate_changed)
		flow->rate_bps = flow->next_rate_bps;
	flow->rate_changed = false;
	flow->timer_rest = 0;
	flow->produced = flow->rate_bps == UNLIMITED ? UNLIMITED : 0;
	if (flow->rate_bps && flow->rate_bps != UNLIMITED)
		flow_timer_start(flow, time_ns);
}

void flow_offer_at_start(struct flow *flow)
{
	flow_offer(flow, flow->spec->start_ns);
}

void flow_tick_at_start(struct flow *flow)
{
	flow_timer_start(flow, flow->spec->start_ns);
}

bool flow_has_no_rate(const struct ccbench_flow_spec *spec)
{
	return !spec->rate_bps;
}

static enum hrtimer_restart flow_tick(struct hrtimer *timer)
{
	struct flow *flow = container_of(timer, struct flow, timer);
	u64 next_ns = flow->ops->tick(flow);

	if (next_ns == NO_TICK)
		return HRTIMER_NORESTART;
	queue_work(flow_queue, &flow->work);
	hrtimer_add_expires_ns(timer, next_ns);
	return HRTIMER_RESTART;
}

/*
 * Changes the rate of an application. The flow may be sending: the packet that it sends can be
 * the event of the change. So its work item does it, at the same time of the experiment.
 */
static bool set_rate(u32 id, u64 rate_bps)
{
	struct flow *flow = id < flow_count ? &flows[id] : NULL;

	if (!flow || flow->multipath || !flow->ops->changes_rate)
		return false;
	flow->next_rate_bps = rate_bps;
	if (rate_bps == CCBENCH_MAX_RATE_BPS && !flow->ops->is_udp)
		flow->next_rate_bps = UNLIMITED;
	flow->rate_changed = true;
	/* Otherwise it has not started, and starts at the new rate, or has ended. */
	if (flow->tx)
		queue_work(flow_queue, &flow->work);
	return true;
}

static void flow_work(struct work_struct *work)
{
	struct flow *flow = container_of(work, struct flow, work);

	if (flow->multipath) {
		multipath_work(flow);
		return;
	}
	/* A flow may start and stop at the same time. */
	if (!flow->tx && flow->stop)
		flow->closed = true;
	if (flow->closed)
		return;
	if (flow->tx && flow->rate_changed)
		flow_offer(flow, ccbench_now_ns());
	flow->ops->work(flow);
}

/* ---- course of the experiment ----------------------------------------- */

static enum hrtimer_restart event_tick(struct hrtimer *timer)
{
	u64 now = ccbench_now_ns();

	for (; next_event < event_count && events[next_event].time_ns <= now; next_event++) {
		struct event *event = &events[next_event];

		event->flow->stop = event->stop;
		queue_work(flow_queue, &event->flow->work);
	}
	if (next_event == event_count)
		return HRTIMER_NORESTART;
	hrtimer_set_expires(timer, ns_to_ktime(epoch_ns + events[next_event].time_ns));
	return HRTIMER_RESTART;
}

static enum hrtimer_restart progress_tick(struct hrtimer *timer)
{
	*(u64 *)ccbench_log_append(progress_log, sizeof(u64)) = ccbench_now_ns();
	ccbench_log_flush(progress_log);
	hrtimer_add_expires_ns(timer, min_t(u64, duration_ns / PROGRESS_STEPS + 1,
					    LONGEST_STEP_NS));
	return HRTIMER_RESTART;
}

static void write_completions(void)
{
	u32 i;

	for (i = 0; i < flow_count; i++) {
		struct flow *flow = &flows[i];
		struct ccbench_completion_record *r;

		if (!flow->ops->is_udp)
			tcp_collect(flow);
		program_collect(flow);
		multipath_collect(flow);
		r = ccbench_log_append(completion_log, sizeof(*r));
		*r = (struct ccbench_completion_record) {
			.start_ns = flow->spec->start_ns,
			.end_ns = flow->end_ns,
			.delivered_bytes = flow->delivered_bytes,
			.sent_bytes = flow->sent_bytes,
			.retransmits = flow->retransmits,
			.error = flow->error,
		};
		ecn_write(flow);
	}
}

static enum hrtimer_restart end_tick(struct hrtimer *timer)
{
	hrtimer_cancel(&event_timer);
	hrtimer_cancel(&progress_timer);
	sample_last(duration_ns);
	write_completions();
	ccbench_finish();
	complete(&finished);
	return HRTIMER_NORESTART;
}

static void start(void)
{
	ktime_t epoch = ktime_add_ns(ktime_get(), CCBENCH_LEAD_NS);

	epoch_ns = ktime_to_ns(epoch);
	ccbench_clock_start(epoch);
	sample_start();
	hrtimer_start(&event_timer, epoch, HRTIMER_MODE_ABS_SOFT);
	hrtimer_start(&progress_timer, epoch, OBSERVER_MODE);
	/* Just after the last sample, which may be due at the same time. */
	hrtimer_start(&end_timer, ktime_add_ns(epoch, duration_ns + NSEC_PER_USEC),
		      HRTIMER_MODE_ABS_SOFT);
}

/* ---- setup ------------------------------------------------------------ */

static int compare_events(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	/* Events of one time are in the order of flows; sort() is not stable. */
	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	return x->stop - y->stop;
}

static int create_events(void)
{
	u32 i;

	events = kvmalloc_array(2 * flow_count, sizeof(*events), GFP_KERNEL);
	if (!events)
		return -ENOMEM;
	for (i = 0; i < flow_count; i++) {
		const struct ccbench_flow_spec *spec = flows[i].spec;

		if (flows[i].ops->joins)
			continue;
		events[event_count++] = (struct event) { spec->start_ns, &flows[i], false };
		if (spec->stop_ns < duration_ns)
			events[event_count++] = (struct event) { spec->stop_ns, &flows[i], true };
	}
	sort(events, event_count, sizeof(*events), compare_events, NULL);
	return 0;
}

static int set_receivers(const struct ccbench_receiver *spec,
			 const struct ccbench_flow_spec *specs)
{
	u32 i;

	if (!spec->flows || spec->flows > flow_count ||
	    spec->first_flow > flow_count - spec->flows)
		return -EINVAL;
	for (i = 0; i < spec->flows; i++)
		flows[spec->first_flow + i].receiver = spec;
	return ccbench_set_receivers(spec, specs[spec->first_flow].reverse, flow_count);
}

static int create_flow(struct flow *flow, u32 id, const struct ccbench_flow_spec *spec,
		       const struct ccbench_message *messages, const u64 *frames, u64 seed)
{
	int err;

	if (spec->kind >= ARRAY_SIZE(kinds))
		return -EINVAL;
	flow->ops = kinds[spec->kind];
	if (flow->ops->is_impossible && flow->ops->is_impossible(spec))
		return -EINVAL;
	err = flow->ops->init ? flow->ops->init() : 0;
	if (err)
		return err;
	flow->messages = messages;
	flow->frames = frames;
	flow->spec = spec;
	flow->id = id;
	flow->end_ns = -1;
	flow->rate_bps = flow->ops->is_unlimited ? UNLIMITED : spec->rate_bps;
	flow->gaps = random_stream(seed, RANDOM_POISSON, id, 0);
	INIT_WORK(&flow->work, flow_work);
	INIT_WORK(&flow->rx_work, tcp_rx_work);
	hrtimer_setup(&flow->timer, flow_tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	if (spec->subflows)
		return multipath_create(flow);
	if (flow->receiver && flow->receiver->read_bps) {
		err = reader_create(flow);
		if (err)
			return err;
	}
	return flow->ops->listen(flow);
}

static int create_flows(const void *description, size_t bytes)
{
	const struct ccbench_flows_header *header = description;
	const struct ccbench_flow_spec *specs = description + sizeof(*header);
	const struct ccbench_message *messages;
	const struct ccbench_receiver *receivers;
	const u64 *frames;
	u64 expected, message_count = 0, frame_count = 0;
	u32 i;
	int err;

	if (bytes < sizeof(*header) || header->protocol != CCBENCH_PROTOCOL)
		return -EINVAL;
	expected = sizeof(*header) + array_size(header->flows, sizeof(*specs));
	if (bytes < expected)
		return -EINVAL;
	messages = description + expected;
	for (i = 0; i < header->flows; i++) {
		message_count += specs[i].messages;
		frame_count += specs[i].frames;
	}
	expected += array_size(message_count, sizeof(*messages));
	if (bytes < expected)
		return -EINVAL;
	frames = description + expected;
	expected += array_size(frame_count, sizeof(*frames));
	if (bytes < expected ||
	    bytes - expected != array_size(header->receivers, sizeof(*receivers)))
		return -EINVAL;
	receivers = description + expected;
	if (!ccbench_sender_net() || !ccbench_receiver_net())
		return -ENETDOWN;

	flows = kvcalloc(header->flows, sizeof(*flows), GFP_KERNEL);
	if (!flows)
		return -ENOMEM;
	flow_count = header->flows;
	duration_ns = header->duration_ns;
	mtu_bytes = header->mtu_bytes;
	for (i = 0; i < header->receivers; i++) {
		err = set_receivers(&receivers[i], specs);
		if (err)
			return err;
	}
	for (i = 0; i < flow_count; i++) {
		err = create_flow(&flows[i], i, &specs[i], messages, frames, header->seed);
		if (err)
			return err;
		messages += specs[i].messages;
		frames += specs[i].frames;
	}
	err = create_events();
	if (err)
		return err;

	progress_log = ccbench_log_open("progress.bin", sizeof(u64));
	if (IS_ERR(progress_log))
		return PTR_ERR(progress_log);
	completion_log = ccbench_log_open("completions.bin", PAGE_SIZE);
	if (IS_ERR(completion_log))
		return PTR_ERR(completion_log);
	return settings_take() ?: guard_create() ?: ecn_init() ?: sample_init(header->sample_interval_ns);
}

static ssize_t flows_write(struct file *file, const char __user *from, size_t bytes,
			   loff_t *offset)
{
	void *description;

	if (flows)
		return -EBUSY;
	/* Not freed, because the specifications are used in place. */
	description = vmemdup_user(from, bytes);
	if (IS_ERR(description))
		return PTR_ERR(description);
	return create_flows(description, bytes) ?: bytes;
}

/*
 * Returns true if the kernel has ever had to reclaim memory. In softirq context packets are
 * then lost silently, which must not look like a result.
 */
static bool memory_was_short(void)
{
	unsigned long counts[NR_VM_EVENT_ITEMS];

	all_vm_events(counts);
	return counts[PAGEOUTRUN];
}

/* Closes all connections, so that congestion controls release what they have. */
static void close_flows(void)
{
	u32 i;

	for (i = 0; i < flow_count; i++) {
		if (flows[i].ops == &program_ops)
			continue;
		flows[i].stop = true;
		queue_work(flow_queue, &flows[i].work);
	}
	flush_workqueue(flow_queue);
	msleep(CLOSING_MS);
	for (i = 0; i < flow_count; i++)
		tcp_close_receiver(&flows[i]);
	tcp_close_listeners();
	msleep(CLOSING_MS);
}

/* Free pages, also those that Linux keeps for the processor. */
static unsigned long free_pages_count(void)
{
	struct zone *zone = NODE_DATA(0)->node_zones;
	unsigned long pages = global_zone_page_state(NR_FREE_PAGES);
	u32 i;

	for (i = 0; i < MAX_NR_ZONES; i++)
		if (populated_zone(&zone[i]))
			pages += per_cpu_ptr(zone[i].per_cpu_pageset, 0)->count;
	return pages;
}

static void print_free_memory(void)
{
	/* Some of it is freed by RCU, and slabs keep free pages, which RCU frees, too. */
	rcu_barrier();
	kmem_cache_shrink(tcp_prot.slab);
	kmem_cache_shrink(tcp_prot.rsk_prot->slab);
	kmem_cache_shrink(tcp_prot.twsk_prot->twsk_slab);
	rcu_barrier();
	pr_info("ccbench: free memory: %lu KB\n", free_pages_count() << (PAGE_SHIFT - 10));
}

static ssize_t flows_read(struct file *file, char __user *to, size_t bytes, loff_t *offset)
{
	if (!flows)
		return -ENODATA;
	start();
	wait_for_completion(&finished);
	if (memory_was_short())
		return -ENOMEM;
	ccbench_check_queues();
	damage_check(close_all);
	settings_check(close_all);
	if (close_all)
		close_flows();
	memory_check(close_all && sockets_end());
	if (close_all)
		print_free_memory();
	return 0;
}

static const struct proc_ops flows_proc_ops = {
	.proc_write = flows_write,
	.proc_read = flows_read,
};

static int __init flows_init(void)
{
	zeroes = alloc_page(GFP_KERNEL | __GFP_ZERO);
	/* One worker, so that work of one time is done in order. */
	flow_queue = alloc_ordered_workqueue("ccbench", WQ_HIGHPRI);
	if (!zeroes || !flow_queue)
		return -ENOMEM;
	ccbench_set_applications(set_rate);
	hrtimer_setup(&event_timer, event_tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&progress_timer, progress_tick, CLOCK_MONOTONIC, OBSERVER_MODE);
	hrtimer_setup(&end_timer, end_tick, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	return proc_create("ccbench/flows", 0600, NULL, &flows_proc_ops) ? 0 : -ENOMEM;
}
module_init(flows_init);

MODULE_DESCRIPTION("Traffic generated and received in the kernel");
MODULE_LICENSE("GPL");
