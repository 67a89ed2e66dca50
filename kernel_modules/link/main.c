// SPDX-License-Identifier: GPL-2.0
/*
 * Setup of the emulated path: creates and connects its parts.
 *
 * /proc/ccbench/link takes the description of the path (struct ccbench_link_header and
 * the following data), once. /proc/ccbench/host then takes "sender" and "receiver",
 * written from the network namespace of that host, and creates the device there.
 *
 * A guest lives for one run, and a failed setup ends it, so nothing is ever destroyed
 * and the module cannot be unloaded.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "link.h"

#define QUEUE_LOG_BUFFER_BYTES	SZ_1M
#define BATCH_LOG_BUFFER_BYTES	SZ_64K
#define QDISC_LOG_BUFFER_BYTES	SZ_64K

static struct ccbench_log *link_log;
static struct bottleneck *bottlenecks;
static u32 bottleneck_count;
static u32 forward_count;	/* bottlenecks to the receiver */

/* ---- the experiment --------------------------------------------------- */

void ccbench_clock_start(ktime_t epoch)
{
	const u64 epoch_ns = ktime_to_ns(epoch);

	path_start(epoch_ns);
	host_start();
	background_start(epoch_ns);
	delay_start(epoch_ns);
	change_start(epoch_ns);
}
EXPORT_SYMBOL_GPL(ccbench_clock_start);

void ccbench_sample_qdiscs(u64 time_ns)
{
	u32 i;

	for (i = 0; i < bottleneck_count; i++)
		if (bottlenecks[i].statistics)
			bottleneck_sample(&bottlenecks[i], time_ns);
}
EXPORT_SYMBOL_GPL(ccbench_sample_qdiscs);

void ccbench_finish(void)
{
	u32 i;

	for (i = 0; i < bottleneck_count; i++) {
		struct ccbench_link_record *r = ccbench_log_append(link_log, sizeof(*r));

		*r = bottlenecks[i].totals;
	}
	if (queue_summary)
		summary_finish();
	draws_finish();
	ccbench_complete_logs();
}
EXPORT_SYMBOL_GPL(ccbench_finish);

void ccbench_check_queues(void)
{
	conservation_check(bottlenecks, bottleneck_count);
}
EXPORT_SYMBOL_GPL(ccbench_check_queues);

/* ---- from part to part ------------------------------------------------ */

static void to_receiver(struct sk_buff *skb)
{
	bottleneck_receive(&bottlenecks[path_first(skb->mark, false)], skb);
}

static void to_sender(struct sk_buff *skb)
{
	bottleneck_receive(&bottlenecks[path_first(skb->mark, true)], skb);
}

/* From a bottleneck to the next one, or to the propagation delay. */
static void forward(struct sk_buff *skb, const struct bottleneck *from)
{
	if (unlikely(skb->mark & CCBENCH_MARK_BACKGROUND)) {
		consume_skb(skb);
		return;
	}
	if (!from->last && !path_ends_at(skb->mark, from->index)) {
		bottleneck_receive(&bottlenecks[from->index + 1], skb);
		return;
	}
	path_count_exit(skb, from->reverse);
	if (from->reverse)
		delay_to_sender(skb, path_now_ns());
	else
		delay_to_receiver(skb);
}

/* ---- setup ------------------------------------------------------------ */

/* Returns the next `bytes` of the description, or NULL if it is too short. */
static const void *take(const void **cursor, const void *end, size_t bytes)
{
	const void *taken = *cursor;

	if (bytes > (size_t)(end - taken))
		return NULL;
	*cursor += bytes;
	return taken;
}

static int open_log(struct ccbench_log **log, const char *name, size_t buffer_bytes)
{
	struct ccbench_log *opened = ccbench_log_open(name, buffer_bytes);

	if (IS_ERR(opened))
		return PTR_ERR(opened);
	*log = opened;
	return 0;
}

static int open_logs(const struct ccbench_bottleneck *specs)
{
	u32 i;
	int err = open_log(&link_log, "links.bin", PAGE_SIZE);

	if (err)
		return err;
	for (i = 0; i < bottleneck_count; i++) {
		if (specs[i].wifi_frames && !batch_log) {
			err = open_log(&batch_log, "batches.bin", BATCH_LOG_BUFFER_BYTES);
			if (err)
				return err;
		}
		if (specs[i].statistics && !qdisc_log) {
			err = open_log(&qdisc_log, "qdiscs.bin", QDISC_LOG_BUFFER_BYTES);
			if (err)
				return err;
		}
	}
	return 0;
}

static int take_lists(struct bottleneck_lists *lists, const struct ccbench_bottleneck *spec,
		      const void **cursor, const void *end)
{
	const u32 length = spec->trace_length;
	const u32 normals = spec->jitter_memory ? spec->jitter_delays : 0;
	struct jitter_tables *jitter = &lists->jitter;

	lists->trace_ms = take(cursor, end, array_size(length, sizeof(u32)));
	lists->lost_packets = take(cursor, end, array_size(spec->lost_packets, sizeof(u32)));
	lists->loss_points = take(cursor, end, array_size(spec->loss_points,
							  sizeof(*lists->loss_points)));
	jitter->delays_ns = take(cursor, end, array_size(spec->jitter_delays, sizeof(u64)));
	jitter->normal = take(cursor, end, array_size(normals, sizeof(s64)));
	if (!lists->trace_ms || !lists->lost_packets || !lists->loss_points ||
	    !jitter->delays_ns || !jitter->normal)
		return -EINVAL;
	/* Either a rate, or a trace or bitrates, which must not end with 0, as must losses. */
	if (!spec->rate_bps == !length || (length && !lists->trace_ms[length - 1]) ||
	    (spec->loss_points && !lists->loss_points[spec->loss_points - 1].time_ns))
		return -EINVAL;
	if (!length)
		lists->trace_ms = NULL;
	return 0;
}

static int create_bottlenecks(const struct ccbench_link_header *header,
			      const struct ccbench_bottleneck *specs,
			      const void **cursor, const void *end)
{
	u32 i;
	int err;

	for (i = 0; i < bottleneck_count; i++) {
		struct bottleneck *link = &bottlenecks[i];
		struct bottleneck_lists lists;

		err = take_lists(&lists, &specs[i], cursor, end);
		if (err)
			return err;
		link->index = i;
		link->forward = forward;
		link->reverse = i >= forward_count;
		link->last = i == forward_count - 1 || i == bottleneck_count - 1;
		err = bottleneck_create(link, header, &specs[i], &lists);
		if (err)
			return err;
	}
	return 0;
}

static int create_path(const void *cursor, const void *end)
{
	const struct ccbench_link_header *header = take(&cursor, end, sizeof(*header));
	const struct ccbench_bottleneck *specs;
	const struct ccbench_change *changes;
	const struct ccbench_rtt_point *points;
	const u32 *extra_us, *first, *last;
	int err;

	if (!header || header->protocol != CCBENCH_PROTOCOL ||
	    header->bottlenecks > CCBENCH_MAX_BOTTLENECKS ||
	    header->bottlenecks <= header->reverse_bottlenecks)
		return -EINVAL;
	specs = take(&cursor, end, array_size(header->bottlenecks, sizeof(*specs)));
	if (!specs)
		return -EINVAL;
	bottleneck_count = header->bottlenecks;
	forward_count = header->bottlenecks - header->reverse_bottlenecks;
	err = path_create(header) ?: open_logs(specs);
	if (err)
		return err;
	bottlenecks = kcalloc(bottleneck_count, sizeof(*bottlenecks), GFP_KERNEL);
	if (!bottlenecks)
		return -ENOMEM;

	err = capture_create(header) ?: create_bottlenecks(header, specs, &cursor, end);
	if (err)
		return err;
	extra_us = take(&cursor, end, array_size(header->flows, sizeof(u32)));
	first = take(&cursor, end, array_size(header->flows, sizeof(u32)));
	last = take(&cursor, end, array_size(header->flows, sizeof(u32)));
	points = take(&cursor, end, array_size(header->rtt_points, sizeof(*points)));
	changes = take(&cursor, end, array_size(header->changes, sizeof(*changes)));
	if (!extra_us || !first || !last || !points || !changes)
		return -EINVAL;
	err = path_set_routes(first, last) ?: departure_create(header, to_receiver, to_sender) ?:
	      delay_create(header, extra_us, points, host_reach_receiver, host_reach_sender) ?:
	      background_create(header, specs, bottlenecks) ?:
	      change_create(header, changes, cursor, end, bottlenecks);
	if (err)
		return err;

	switch (header->queue_log) {
	case CCBENCH_QUEUE_NOTHING:
		return 0;
	case CCBENCH_QUEUE_EVENTS:
		return open_log(&queue_log, "queue.bin", QUEUE_LOG_BUFFER_BYTES);
	case CCBENCH_QUEUE_SUMMARY:
		queue_summary = true;
		return summary_create(header, specs);
	default:
		return -EINVAL;
	}
}

static ssize_t link_write(struct file *file, const char __user *from, size_t bytes,
			  loff_t *offset)
{
	void *description;

	if (bottlenecks)
		return -EBUSY;
	/* Not freed, because traces and bottlenecks of flows are used in place. */
	description = vmemdup_user(from, bytes);
	if (IS_ERR(description))
		return PTR_ERR(description);
	return create_path(description, description + bytes) ?: bytes;
}

static ssize_t host_write(struct file *file, const char __user *from, size_t bytes,
			  loff_t *offset)
{
	char word[16] = { };
	int err;

	if (bytes >= sizeof(word) || copy_from_user(word, from, bytes))
		return -EINVAL;
	if (!bottlenecks)
		err = -EBUSY;
	else if (!strcmp(word, "sender"))
		err = host_create(false);
	else if (!strcmp(word, "receiver"))
		err = host_create(true);
	else
		err = -EINVAL;
	return err ?: bytes;
}

static const struct proc_ops link_proc_ops = { .proc_write = link_write };
static const struct proc_ops host_proc_ops = { .proc_write = host_write };

static int __init link_init(void)
{
	path_events_init();
	if (!proc_mkdir("ccbench", NULL))
		return -ENOMEM;
	if (!proc_create("ccbench/link", 0200, NULL, &link_proc_ops) ||
	    !proc_create("ccbench/host", 0200, NULL, &host_proc_ops))
		return -ENOMEM;
	return 0;
}
module_init(link_init);

MODULE_DESCRIPTION("Emulated path: bottlenecks and propagation delay");
MODULE_LICENSE("GPL");
