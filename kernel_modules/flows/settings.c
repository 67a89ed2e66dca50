// SPDX-License-Identifier: GPL-2.0
/*
 * Sysctls and devices of both hosts, which the scenario sets: a user's module must not change them,
 * as they also decide about other flows.
 */
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/version.h>
#include <net/net_namespace.h>

#include "flows.h"

/* Longer values, such as keys, are not compared. */
#define LONGEST_BYTES	(3 * sizeof(long))

struct setting {
	u8 value[LONGEST_BYTES];
};

/* Of the device of a host to the path. */
#define DEVICE_FIELDS(field) \
	field(mtu) field(flags) field(features) field(hard_header_len) field(tx_queue_len) \
	field(gso_max_size) field(gso_max_segs) field(tso_max_size) field(tso_max_segs)

/* What a host has at the start. */
struct host {
	const char *name;
	struct net *net;
	struct setting *sysctls;
#define MEMBER(name)	typeof_member(struct net_device, name) name;
	struct {
		DEVICE_FIELDS(MEMBER)
	} device;
#undef MEMBER
};

static struct host sender = { .name = "sender" }, receiver = { .name = "receiver" };

static u32 count(const struct ctl_table_header *header)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return header->ctl_table_size;
#else
	u32 entries = 0;

	while (header->ctl_table[entries].procname)
		entries++;
	return entries;
#endif
}

static bool is_compared(const struct ctl_table *entry)
{
	return entry->data && entry->maxlen > 0 && entry->maxlen <= LONGEST_BYTES;
}

static int take_sysctls(struct host *host)
{
	const struct ctl_table_header *header = host->net->ipv4.ipv4_hdr;
	u32 i;

	host->sysctls = kcalloc(count(header), sizeof(*host->sysctls), GFP_KERNEL);
	if (!host->sysctls)
		return -ENOMEM;
	for (i = 0; i < count(header); i++)
		if (is_compared(&header->ctl_table[i]))
			memcpy(host->sysctls[i].value, header->ctl_table[i].data,
			       header->ctl_table[i].maxlen);
	return 0;
}

static __cold void fail(const struct host *host, const char *kind, const char *name)
{
	panic("ccbench: the host %s has another %s%s than at the start, which only the scenario may set\n",
	      host->name, kind, name);
}

static void check_sysctls(const struct host *host)
{
	const struct ctl_table_header *header = host->net->ipv4.ipv4_hdr;
	u32 i;

	for (i = 0; i < count(header); i++) {
		const struct ctl_table *entry = &header->ctl_table[i];

		if (is_compared(entry) &&
		    memcmp(host->sysctls[i].value, entry->data, entry->maxlen))
			fail(host, "net.ipv4.", entry->procname);
	}
}

/* Returns the device of a host to the path, which it has until the guest ends. */
static const struct net_device *device_of(const struct host *host)
{
	const struct net_device *dev;

	rcu_read_lock();
	for_each_netdev_rcu(host->net, dev)
		if (!(dev->flags & IFF_LOOPBACK))
			break;
	rcu_read_unlock();
	return dev;
}

static void take_device(struct host *host)
{
	const struct net_device *dev = device_of(host);

#define TAKE(name)	host->device.name = dev->name;
	DEVICE_FIELDS(TAKE)
#undef TAKE
}

static void check_device(const struct host *host)
{
	const struct net_device *dev = device_of(host);

#define CHECK(name) \
	if (host->device.name != dev->name) \
		fail(host, "device->", #name);
	DEVICE_FIELDS(CHECK)
#undef CHECK
}

static int take(struct host *host, struct net *net)
{
	host->net = net;
	take_device(host);
	return take_sysctls(host);
}

int settings_take(void)
{
	return take(&sender, ccbench_sender_net()) ?: take(&receiver, ccbench_receiver_net());
}

void settings_check(bool has_own_modules)
{
	check_sysctls(&sender);
	check_sysctls(&receiver);
	if (!has_own_modules)
		return;
	check_device(&sender);
	check_device(&receiver);
}
