// SPDX-License-Identifier: GPL-2.0
/*
 * Summary of queues, instead of a record per event.
 *
 * For each bottleneck: time and arrivals by the number of waiting packets, waiting times of
 * packets until departure, events of the packets of each flow with their waiting times, and
 * the backlog at regular times. All values are exact, except for the classes of waiting times.
 * A qdisc with a classic and an L4S queue has a summary of both together and one of each.
 */
#include <linux/bitops.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sizes.h>
#include <linux/xarray.h>

#include "link.h"

#define LOG_BUFFER_BYTES	SZ_64K

/* Classes of waiting times have 7 significant bits, a relative width of 1.6 %. */
#define CLASSES_PER_OCTAVE	64
#define CLASSES			((64 - 6) * CLASSES_PER_OCTAVE + CLASSES_PER_OCTAVE)

struct occupancy {
	u64 time_ns;
	u64 arrivals;
};

/*
 * Backlogs share an allocation of one page. A limit in bytes admits any number of packets, so
 * that pages are added when they are first needed.
 */
#define BACKLOGS_PER_PAGE	(PAGE_SIZE / sizeof(struct occupancy))

struct counts {
	u64 packets[CCBENCH_EVENTS];
	u64 bytes[CCBENCH_EVENTS];
	u64 waited_ns[CCBENCH_EVENTS];
};

struct queue_summary {
	bool used;
	u64 since_ns;			/* time of the last change of the backlog */
	u64 sample_ns;			/* time of the next sample */
	u32 backlog_packets;
	u32 backlog_bytes;
	struct xarray occupancy;	/* pages of struct occupancy, by backlog */
	struct occupancy *page;		/* of the current backlog */
	u32 page_index;
	u64 *waits;			/* packets, by class */
	struct counts *counts;		/* by mark; the first one is for packets without a flow */
};

static struct queue_summary (*summaries)[CCBENCH_QUEUES];	/* of each bottleneck */
static u32 bottleneck_count, mark_count;
static u64 end_ns, interval_ns;
static struct ccbench_log *samples;
static struct occupancy nowhere[BACKLOGS_PER_PAGE];

static u32 class_of(u64 ns)
{
	int shift = max(fls64(ns) - 7, 0);

	return shift * CLASSES_PER_OCTAVE + (u32)(ns >> shift);
}

static u64 class_start_ns(u32 class)
{
	u32 shift = max(class / CLASSES_PER_OCTAVE, 1U) - 1;

	return (u64)(class - shift * CLASSES_PER_OCTAVE) << shift;
}

static struct occupancy *page_at(struct xarray *pages, u32 index)
{
	struct occupancy *page = xa_load(pages, index);

	if (page)
		return page;
	page = kzalloc(PAGE_SIZE, GFP_ATOMIC);
	if (page && !xa_err(xa_store(pages, index, page, GFP_ATOMIC)))
		return page;
	/* Without memory, the run fails: see memory_was_short() in flows/main.c. */
	kfree(page);
	return nowhere;
}

static struct occupancy *occupancy_now(struct queue_summary *summary)
{
	u32 index = summary->backlog_packets / BACKLOGS_PER_PAGE;

	if (!summary->page || summary->page_index != index) {
		summary->page = page_at(&summary->occupancy, index);
		summary->page_index = index;
	}
	return &summary->page[summary->backlog_packets % BACKLOGS_PER_PAGE];
}

/* Takes the samples before a time; a sample is the state after all events of its time. */
static void take_samples(u32 bottleneck, enum ccbench_queue queue, u64 before_ns)
{
	struct queue_summary *summary = &summaries[bottleneck][queue];

	for (; summary->sample_ns < before_ns; summary->sample_ns += interval_ns) {
		struct ccbench_backlog_record *r = ccbench_log_append(samples, sizeof(*r));

		*r = (struct ccbench_backlog_record) {
			.time_ns = summary->sample_ns,
			.backlog_packets = summary->backlog_packets,
			.backlog_bytes = summary->backlog_bytes,
			.bottleneck = bottleneck,
			.queue = queue,
		};
	}
}

/* Accounts the time since the last change of the backlog. */
static void catch_up(struct queue_summary *summary, u64 now)
{
	occupancy_now(summary)->time_ns += now - summary->since_ns;
	summary->since_ns = now;
}

static void account(u8 bottleneck, enum ccbench_queue queue, struct sk_buff *skb,
		    enum ccbench_event event, u64 now)
{
	struct queue_summary *summary = &summaries[bottleneck][queue];
	struct counts *counts = &summary->counts[ccbench_flow(skb->mark) + 1];
	u64 waited_ns = 0;

	if (event != CCBENCH_LOSS)	/* before the queue */
		waited_ns = now - arrival_of(skb)->time_ns;
	counts->packets[event]++;
	counts->bytes[event] += skb->len;
	counts->waited_ns[event] += waited_ns;
	if (event == CCBENCH_MARK || event == CCBENCH_LOSS)
		return;

	take_samples(bottleneck, queue, now);
	catch_up(summary, now);
	if (event == CCBENCH_ENQUEUE) {
		occupancy_now(summary)->arrivals++;
		summary->backlog_packets++;
		summary->backlog_bytes += skb->len;
		return;
	}
	if (event == CCBENCH_DEQUEUE)
		summary->waits[class_of(waited_ns)]++;
	summary->backlog_packets--;
	summary->backlog_bytes -= skb->len;
}

void summary_record(u8 bottleneck, enum ccbench_queue queue, struct sk_buff *skb,
		    enum ccbench_event event)
{
	u64 now = ccbench_now_ns();

	/* The guest continues for a short time after the end. */
	if (now > end_ns)
		return;
	account(bottleneck, CCBENCH_WHOLE, skb, event, now);
	if (queue != CCBENCH_WHOLE)
		account(bottleneck, queue, skb, event, now);
}

static void write_occupancy(struct ccbench_log *log, u32 bottleneck,
			    enum ccbench_queue queue)
{
	const struct occupancy *page;
	unsigned long index;
	u32 i;

	xa_for_each(&summaries[bottleneck][queue].occupancy, index, page) {
		for (i = 0; i < BACKLOGS_PER_PAGE; i++) {
			struct ccbench_occupancy_record *r;

			if (!page[i].time_ns && !page[i].arrivals)
				continue;
			r = ccbench_log_append(log, sizeof(*r));
			r->time_ns = page[i].time_ns;
			r->arrivals = page[i].arrivals;
			r->packets = index * BACKLOGS_PER_PAGE + i;
			r->bottleneck = bottleneck;
			r->queue = queue;
		}
	}
}

static void write_waits(struct ccbench_log *log, u32 bottleneck, enum ccbench_queue queue)
{
	const u64 *waits = summaries[bottleneck][queue].waits;
	u32 i;

	for (i = 0; i < CLASSES; i++) {
		struct ccbench_wait_record *r;

		if (!waits[i])
			continue;
		r = ccbench_log_append(log, sizeof(*r));
		r->from_ns = class_start_ns(i);
		r->to_ns = class_start_ns(i + 1);
		r->packets = waits[i];
		r->bottleneck = bottleneck;
		r->queue = queue;
	}
}

static void write_counts(struct ccbench_log *log, u32 bottleneck, enum ccbench_queue queue)
{
	const struct counts *counts = summaries[bottleneck][queue].counts;
	u32 mark, event;

	for (mark = 0; mark < mark_count; mark++, counts++) {
		for (event = 0; event < CCBENCH_EVENTS; event++) {
			struct ccbench_count_record *r;

			if (!counts->packets[event])
				continue;
			r = ccbench_log_append(log, sizeof(*r));
			r->packets = counts->packets[event];
			r->bytes = counts->bytes[event];
			r->waited_ns = counts->waited_ns[event];
			r->flow = ccbench_flow(mark);
			r->event = event;
			r->bottleneck = bottleneck;
			r->queue = queue;
		}
	}
}

static struct {
	const char *name;
	void (*write)(struct ccbench_log *log, u32 bottleneck, enum ccbench_queue queue);
	struct ccbench_log *log;
} tables[] = {
	{ "queue_occupancy.bin", write_occupancy },
	{ "queue_waits.bin", write_waits },
	{ "queue_counts.bin", write_counts },
};

static void finish(u32 bottleneck, enum ccbench_queue queue)
{
	u32 i;

	if (!summaries[bottleneck][queue].used)
		return;
	take_samples(bottleneck, queue, end_ns + 1);
	catch_up(&summaries[bottleneck][queue], end_ns);
	for (i = 0; i < ARRAY_SIZE(tables); i++)
		tables[i].write(tables[i].log, bottleneck, queue);
}

void summary_finish(void)
{
	u32 bottleneck, queue;

	for (bottleneck = 0; bottleneck < bottleneck_count; bottleneck++)
		for (queue = 0; queue < CCBENCH_QUEUES; queue++)
			finish(bottleneck, queue);
}

static int open_log(struct ccbench_log **log, const char *name)
{
	*log = ccbench_log_open(name, LOG_BUFFER_BYTES);
	return PTR_ERR_OR_ZERO(*log);
}

static int create(struct queue_summary *summary)
{
	summary->used = true;
	xa_init(&summary->occupancy);
	summary->waits = kvcalloc(CLASSES, sizeof(*summary->waits), GFP_KERNEL);
	summary->counts = kvcalloc(mark_count, sizeof(*summary->counts), GFP_KERNEL);
	return summary->waits && summary->counts ? 0 : -ENOMEM;
}

int summary_create(const struct ccbench_link_header *header,
		   const struct ccbench_bottleneck *specs)
{
	u32 i, queue;
	int err;

	if (!header->sample_interval_ns)
		return -EINVAL;
	end_ns = header->duration_ns;
	interval_ns = header->sample_interval_ns;
	mark_count = header->flows + 1;
	bottleneck_count = header->bottlenecks;
	summaries = kcalloc(bottleneck_count, sizeof(*summaries), GFP_KERNEL);
	if (!summaries)
		return -ENOMEM;
	for (i = 0; i < bottleneck_count; i++) {
		const u32 queues = specs[i].l4s_mask ? CCBENCH_QUEUES : CCBENCH_WHOLE + 1;

		for (queue = 0; queue < queues; queue++) {
			err = create(&summaries[i][queue]);
			if (err)
				return err;
		}
	}
	for (i = 0; i < ARRAY_SIZE(tables); i++) {
		err = open_log(&tables[i].log, tables[i].name);
		if (err)
			return err;
	}
	return open_log(&samples, "queue_samples.bin");
}
