// SPDX-License-Identifier: GPL-2.0
/*
 * Sysctls of both hosts, which the scenario sets: a user's module must not change them, as they
 * also decide about other flows.
 */
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

static struct setting *sender_settings, *receiver_settings;

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

static struct setting *take(const struct net *net)
{
	const struct ctl_table_header *header = net->ipv4.ipv4_hdr;
	struct setting *settings = kcalloc(count(header), sizeof(*settings), GFP_KERNEL);
	u32 i;

	for (i = 0; settings && i < count(header); i++)
		if (is_compared(&header->ctl_table[i]))
			memcpy(settings[i].value, header->ctl_table[i].data,
			       header->ctl_table[i].maxlen);
	return settings;
}

static void check(const char *host, const struct net *net, const struct setting *settings)
{
	const struct ctl_table_header *header = net->ipv4.ipv4_hdr;
	u32 i;

	for (i = 0; i < count(header); i++) {
		const struct ctl_table *entry = &header->ctl_table[i];

		if (is_compared(entry) && memcmp(settings[i].value, entry->data, entry->maxlen))
			panic("ccbench: the host %s has another net.ipv4.%s than at the start, which only the scenario may set\n",
			      host, entry->procname);
	}
}

int settings_take(void)
{
	sender_settings = take(ccbench_sender_net());
	receiver_settings = take(ccbench_receiver_net());
	return sender_settings && receiver_settings ? 0 : -ENOMEM;
}

void settings_check(void)
{
	check("sender", ccbench_sender_net(), sender_settings);
	check("receiver", ccbench_receiver_net(), receiver_settings);
}
