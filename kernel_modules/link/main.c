// SPDX-License-Identifier: GPL-2.0
/*
 * Setup of the emulated path, and its two ends.
 *
 * /proc/ccbench/link takes the description of the path (struct ccbench_link_header and
 * the following data), once. /proc/ccbench/host then takes "sender" and "receiver",
 * written from the network namespace of that host, and creates the device there.
 *
 * A guest lives for one run, and a failed setup ends it, so nothing is ever destroyed
 * and the module cannot be unloaded.
 */
#include <linux/if_arp.h>
#include <linux/ip.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <net/dst.h>

#include "compat.h"
#include "link.h"

#define QUEUE_LOG_BUFFER_BYTES	SZ_1M
#define BATCH_LOG_BUFFER_BYTES	SZ_64K
#define QDISC_LOG_BUFFER_BYTES	SZ_64K

struct ccbench_log *queue_log, *batch_log, *qdisc_log;
bool queue_summary;
u32 path_mtu_bytes;
static struct ccbench_log *link_log;

/* Bottlenecks of a flow. */
struct route {
	u8 first;		/* to the receiver */
	u8 first_reverse;	/* to the sender */
	u8 last;		/* of the data */
	bool reverse;		/* data go to the sender */
};

static struct bottleneck *bottlenecks;
static u32 bottleneck_count;
static u32 forward_count;	/* bottlenecks to the receiver */
static struct net_device *sender, *receiver;
static struct ccbench_path_counters *counters;
static struct route *routes;
static u32 flow_count;
static u64 epoch_ns;
/* Packets are captured or watched at the hosts, or receivers differ from Linux. */
static bool hosts_are_observed;

/* ---- clock ------------------------------------------------------------ */

void ccbench_clock_start(ktime_t epoch)
{
	epoch_ns = ktime_to_ns(epoch);
	hosts_are_observed = capture_log || receivers || watched_flows;
	background_start(epoch_ns);
	delay_start(epoch_ns);
	change_start(epoch_ns);
}
EXPORT_SYMBOL_GPL(ccbench_clock_start);

u64 ccbench_now_ns(void)
{
	return path_now_ns() - epoch_ns;
}
EXPORT_SYMBOL_GPL(ccbench_now_ns);

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

/* ---- packets ---------------------------------------------------------- */

/* Whether a direction is that of the data of a flow. */
static bool has_data(u32 flow, bool reverse)
{
	return routes[flow].reverse == reverse;
}

static void deliver(struct sk_buff *skb, bool reverse)
{
	skb->dev = reverse ? sender : receiver;
	skb->pkt_type = PACKET_HOST;
	skb_reset_mac_header(skb);
	memset(skb->cb, 0, sizeof(skb->cb));
	netif_receive_skb(skb);
}

static void deliver_observed(struct sk_buff *skb, bool reverse)
{
	const u32 mark = skb->mark;

	capture_at(reverse ? CAPTURE_SENDER : CAPTURE_RECEIVER, skb);
	if (receivers && !receiver_arrival(skb, reverse))
		return;
	deliver(skb, reverse);
	if (watched_flows && mark && !has_data(ccbench_flow(mark), reverse))
		trigger_packet_arrived(ccbench_flow(mark));
}

void path_reach_receiver(struct sk_buff *skb)
{
	if (unlikely(hosts_are_observed))
		deliver_observed(skb, false);
	else
		deliver(skb, false);
}

void path_reach_sender(struct sk_buff *skb)
{
	if (unlikely(hosts_are_observed))
		deliver_observed(skb, true);
	else
		deliver(skb, true);
}

void path_to_receiver(struct sk_buff *skb)
{
	u32 first = skb->mark ? routes[ccbench_flow(skb->mark)].first : 0;

	bottleneck_receive(&bottlenecks[first], skb);
}

void path_to_sender(struct sk_buff *skb)
{
	u32 first = skb->mark ? routes[ccbench_flow(skb->mark)].first_reverse : forward_count;

	bottleneck_receive(&bottlenecks[first], skb);
}

void path_forward(struct sk_buff *skb, const struct bottleneck *from)
{
	const u32 flow = ccbench_flow(skb->mark);

	if (unlikely(skb->mark & CCBENCH_MARK_BACKGROUND)) {
		consume_skb(skb);
		return;
	}
	if (!from->last && !(skb->mark && from->index == routes[flow].last)) {
		bottleneck_receive(&bottlenecks[from->index + 1], skb);
		return;
	}
	if (skb->mark && has_data(flow, from->reverse)) {
		counters[flow].departed_bytes += skb->len;
		counters[flow].packets--;
	}
	if (from->reverse)
		delay_to_sender(skb, path_now_ns());
	else
		delay_to_receiver(skb);
}

void path_count_loss(const struct bottleneck *link, u32 mark)
{
	if (ccbench_has_flow(mark) && has_data(ccbench_flow(mark), link->reverse))
		counters[ccbench_flow(mark)].packets--;
}

void path_count_duplicate(const struct bottleneck *link, u32 mark)
{
	if (mark && has_data(ccbench_flow(mark), link->reverse))
		counters[ccbench_flow(mark)].packets++;
}

void path_count_drop(const struct bottleneck *link, u32 mark)
{
	if (ccbench_has_flow(mark) && has_data(ccbench_flow(mark), link->reverse))
		counters[ccbench_flow(mark)].drops++;
	path_count_loss(link, mark);
}

/* Removes the state of the host from a packet that leaves it. */
static void leave_host(struct sk_buff *skb)
{
	skb_orphan(skb);
	skb_dst_drop(skb);
	skb_clear_hash(skb);
	skb->tstamp = 0;
	skb->priority = 0;
}

static void count(struct sk_buff *skb, bool reverse)
{
	/* Other marks have no counters. */
	if (unlikely(skb->mark > flow_count))
		skb->mark = 0;
	if (skb->mark && has_data(ccbench_flow(skb->mark), reverse))
		counters[ccbench_flow(skb->mark)].packets++;
}

static void depart(struct sk_buff *skb, bool reverse)
{
	if (reverse)
		departure_from_receiver(skb);
	else
		departure_from_sender(skb);
}

void path_depart_observed(struct sk_buff *skb, bool reverse)
{
	capture_at(reverse ? CAPTURE_RECEIVER : CAPTURE_SENDER, skb);
	depart(skb, reverse);
}

static void leave_observed(struct sk_buff *skb, bool reverse)
{
	if (watched_flows && skb->mark && has_data(ccbench_flow(skb->mark), reverse))
		trigger_packet_leaves(skb);
	leave_host(skb);
	if (receivers)
		receiver_departure(skb, reverse);
	else
		path_depart_observed(skb, reverse);
}

static netdev_tx_t leave(struct sk_buff *skb, bool reverse)
{
	count(skb, reverse);
	if (unlikely(hosts_are_observed)) {
		leave_observed(skb, reverse);
		return NETDEV_TX_OK;
	}
	leave_host(skb);
	depart(skb, reverse);
	return NETDEV_TX_OK;
}

static netdev_tx_t sender_xmit(struct sk_buff *skb, struct net_device *dev)
{
	return leave(skb, false);
}

static netdev_tx_t receiver_xmit(struct sk_buff *skb, struct net_device *dev)
{
	return leave(skb, true);
}

const struct ccbench_path_counters *ccbench_path_counters(u32 flow)
{
	return &counters[flow];
}
EXPORT_SYMBOL_GPL(ccbench_path_counters);

/* ---- devices ---------------------------------------------------------- */

/*
 * The devices offer checksums in hardware, but no TSO: hosts keep GSO and segment in
 * software when they send, so that the path carries packets.
 */
void path_setup_device(struct net_device *dev)
{
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_POINTOPOINT | IFF_NOARP;
	dev->mtu = path_mtu_bytes;
	dev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->features |= dev->hw_features;
	ccbench_set_lockless_xmit(dev);
}

static void setup_host(struct net_device *dev)
{
	path_setup_device(dev);
	dev->priv_flags |= IFF_NO_QUEUE;
}

static const struct net_device_ops sender_ops = { .ndo_start_xmit = sender_xmit };
static const struct net_device_ops receiver_ops = { .ndo_start_xmit = receiver_xmit };

static int create_host(struct net_device **host, const struct net_device_ops *ops)
{
	struct net_device *dev;
	int err;

	if (!bottlenecks || *host)
		return -EBUSY;
	dev = alloc_netdev(0, "path", NET_NAME_ENUM, setup_host);
	if (!dev)
		return -ENOMEM;
	dev->netdev_ops = ops;
	/* The reference keeps the namespace when init enters the next one. */
	dev_net_set(dev, get_net(current->nsproxy->net_ns));
	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return err;
	}
	*host = dev;
	return 0;
}

struct net *ccbench_sender_net(void)
{
	return sender ? dev_net(sender) : NULL;
}
EXPORT_SYMBOL_GPL(ccbench_sender_net);

struct net *ccbench_receiver_net(void)
{
	return receiver ? dev_net(receiver) : NULL;
}
EXPORT_SYMBOL_GPL(ccbench_receiver_net);

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

struct random_stream *path_draws(const struct ccbench_link_header *header,
				 enum random_purpose purpose, u32 bottleneck)
{
	const u32 count = header->flows + 1;
	struct random_stream *draws = kvmalloc_array(count, sizeof(*draws), GFP_KERNEL);
	u32 i;

	for (i = 0; draws && i < count; i++)
		draws[i] = random_stream(header->seed, purpose, bottleneck, i);
	return draws;
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
		link->reverse = i >= forward_count;
		link->last = i == forward_count - 1 || i == bottleneck_count - 1;
		err = bottleneck_create(link, header, &specs[i], &lists);
		if (err)
			return err;
	}
	return 0;
}

static int create_routes(const u32 *first, const u32 *last)
{
	u32 i;

	for (i = 0; i < flow_count; i++) {
		if (last[i] >= bottleneck_count || first[i] > last[i] ||
		    bottlenecks[first[i]].reverse != bottlenecks[last[i]].reverse)
			return -EINVAL;
		routes[i] = (struct route) {
			.first = 0,
			.first_reverse = forward_count,
			.last = last[i],
			.reverse = bottlenecks[last[i]].reverse,
		};
		if (routes[i].reverse)
			routes[i].first_reverse = first[i];
		else
			routes[i].first = first[i];
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
	flow_count = header->flows;
	path_mtu_bytes = header->mtu_bytes;
	bottleneck_count = header->bottlenecks;
	forward_count = header->bottlenecks - header->reverse_bottlenecks;
	err = open_logs(specs);
	if (err)
		return err;
	bottlenecks = kcalloc(bottleneck_count, sizeof(*bottlenecks), GFP_KERNEL);
	counters = kvcalloc(max(flow_count, 1U), sizeof(*counters), GFP_KERNEL);
	routes = kvcalloc(max(flow_count, 1U), sizeof(*routes), GFP_KERNEL);
	if (!bottlenecks || !counters || !routes)
		return -ENOMEM;

	err = capture_create(header) ?: create_bottlenecks(header, specs, &cursor, end);
	if (err)
		return err;
	extra_us = take(&cursor, end, array_size(flow_count, sizeof(u32)));
	first = take(&cursor, end, array_size(flow_count, sizeof(u32)));
	last = take(&cursor, end, array_size(flow_count, sizeof(u32)));
	points = take(&cursor, end, array_size(header->rtt_points, sizeof(*points)));
	changes = take(&cursor, end, array_size(header->changes, sizeof(*changes)));
	if (!extra_us || !first || !last || !points || !changes)
		return -EINVAL;
	err = create_routes(first, last) ?: departure_create(header) ?:
	      delay_create(header, extra_us, points) ?:
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
	if (!strcmp(word, "sender"))
		err = create_host(&sender, &sender_ops);
	else if (!strcmp(word, "receiver"))
		err = create_host(&receiver, &receiver_ops);
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
