// SPDX-License-Identifier: GPL-2.0
/* The two ends of the path: their devices, and packets that leave and reach them. */
#include <linux/module.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>
#include <net/dst.h>

#include "link.h"

static struct net_device *sender, *receiver;
/* Packets are captured or watched at the hosts, or receivers differ from Linux. */
static bool are_observed;
static const struct ccbench_observer *observer;

void host_start(void)
{
	are_observed = capture_log || receivers || watched_flows || observer;
}

void ccbench_observe(const struct ccbench_observer *given)
{
	observer = given;
}
EXPORT_SYMBOL_GPL(ccbench_observe);

/* ---- packets that reach a host ---------------------------------------- */

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
	if (observer)
		observer->arrives(skb, reverse);
	deliver(skb, reverse);
	if (watched_flows && mark && !path_has_data(mark, reverse))
		trigger_packet_arrived(ccbench_flow(mark));
}

void host_reach_receiver(struct sk_buff *skb)
{
	if (unlikely(are_observed))
		deliver_observed(skb, false);
	else
		deliver(skb, false);
}

void host_reach_sender(struct sk_buff *skb)
{
	if (unlikely(are_observed))
		deliver_observed(skb, true);
	else
		deliver(skb, true);
}

/* ---- packets that leave a host ---------------------------------------- */

/* Removes the state of the host from a packet that leaves it. */
static void leave_host(struct sk_buff *skb)
{
	skb_orphan(skb);
	skb_dst_drop(skb);
	skb_clear_hash(skb);
	skb->tstamp = 0;
	skb->priority = 0;
}

static void leave_observed(struct sk_buff *skb, bool reverse)
{
	if (watched_flows && path_has_data(skb->mark, reverse))
		trigger_packet_leaves(skb);
	leave_host(skb);
	if (receivers)
		receiver_departure(skb, reverse);
	else
		departure_observed(skb, reverse);
}

static netdev_tx_t leave(struct sk_buff *skb, bool reverse)
{
	if (unlikely(observer))
		observer->leaves(skb, reverse);
	path_count_entry(skb, reverse);
	if (unlikely(are_observed)) {
		leave_observed(skb, reverse);
		return NETDEV_TX_OK;
	}
	leave_host(skb);
	departure(skb, reverse);
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

/* ---- devices ---------------------------------------------------------- */

static void setup_host(struct net_device *dev)
{
	path_setup_device(dev);
	dev->priv_flags |= IFF_NO_QUEUE;
}

static const struct net_device_ops sender_ops = { .ndo_start_xmit = sender_xmit };
static const struct net_device_ops receiver_ops = { .ndo_start_xmit = receiver_xmit };

int host_create(bool is_receiver)
{
	struct net_device **host = is_receiver ? &receiver : &sender;
	struct net_device *dev;
	int err;

	if (*host)
		return -EBUSY;
	dev = alloc_netdev(0, "path", NET_NAME_ENUM, setup_host);
	if (!dev)
		return -ENOMEM;
	dev->netdev_ops = is_receiver ? &receiver_ops : &sender_ops;
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
