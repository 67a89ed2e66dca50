// SPDX-License-Identifier: GPL-2.0
/* Settings of a network namespace, in /proc/sys/net/ipv4. */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include "cca_compat.h"
#include "dft.h"
#include "settings.h"

struct limits {
	const char *name;
	u32 offset;
	u32 normal;
	unsigned int least;
	unsigned int most;
};

#define SETTING(field, value, from, to) {				\
	.name = "tcp_nimbus_" #field,					\
	.offset = offsetof(struct nimbus_settings, field),		\
	.normal = value,						\
	.least = from,							\
	.most = to,							\
}

static struct limits limits[] = {
	SETTING(link_kbps, 0, 0, 17000000),
	SETTING(pulse_permille, 250, 1, 500),
	SETTING(pulses, 25, 7, 40),
	SETTING(delay_pulses, 30, 7, 40),
	SETTING(threshold_percent, 200, 100, 10000),
	SETTING(hold_ms, 5000, 0, 60000),
	SETTING(target_us, 12500, 0, 1000000),
	SETTING(alpha_permille, 800, 0, 1000),
	SETTING(beta_permille, 500, 0, 1000),
	SETTING(window_us, 0, 0, 500000),
	SETTING(elect, 0, 0, 1),
	SETTING(kappa_percent, 100, 1, 1000),
};

struct nimbus_net {
	struct nimbus_settings settings;
	struct ctl_table_header *header;
};

static unsigned int net_id __read_mostly;

static u32 *value_of(struct nimbus_net *nimbus, const struct limits *limit)
{
	return (u32 *)((char *)&nimbus->settings + limit->offset);
}

/*
 * Pulsers detect each other by peaks at both frequencies relative to the frequencies between
 * the higher one and twice the lower one. This range must not be empty.
 */
static bool compatible(const struct nimbus_settings *settings)
{
	u32 low = min(settings->pulses, settings->delay_pulses);
	u32 high = max(settings->pulses, settings->delay_pulses);

	return !settings->elect || high + NIMBUS_MARGIN_BINS <= 2 * low - NIMBUS_MARGIN_BINS;
}

static DEFINE_MUTEX(writers);

static int read_or_write(CTL_TABLE *file, int write, void *buffer, size_t *bytes, loff_t *at)
{
	const struct limits *limit = container_of(file->extra1, struct limits, least);
	const struct nimbus_settings *settings = file->data - limit->offset;
	struct nimbus_settings changed;
	struct ctl_table copy = *file;
	int result;

	mutex_lock(&writers);
	changed = *settings;
	copy.data = (char *)&changed + limit->offset;
	result = proc_douintvec_minmax(&copy, write, buffer, bytes, at);
	if (!result && write) {
		if (compatible(&changed))
			WRITE_ONCE(*(u32 *)file->data, *(u32 *)copy.data);
		else
			result = -EINVAL;
	}
	mutex_unlock(&writers);
	return result;
}

static int make_files(struct net *net, struct nimbus_net *nimbus)
{
	struct ctl_table *table;
	u32 i;

	/* An empty entry terminates the table before Linux 6.6. */
	table = kcalloc(ARRAY_SIZE(limits) + 1, sizeof(*table), GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < ARRAY_SIZE(limits); i++)
		table[i] = (struct ctl_table) {
			.procname = limits[i].name,
			.data = value_of(nimbus, &limits[i]),
			.maxlen = sizeof(u32),
			.mode = 0644,
			.proc_handler = read_or_write,
			.extra1 = &limits[i].least,
			.extra2 = &limits[i].most,
		};
	nimbus->header = cca_register_sysctl(net, table, ARRAY_SIZE(limits));
	if (!nimbus->header) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static int __net_init settings_init(struct net *net)
{
	struct nimbus_net *nimbus = net_generic(net, net_id);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(limits); i++)
		*value_of(nimbus, &limits[i]) = limits[i].normal;
	return IS_ENABLED(CONFIG_SYSCTL) ? make_files(net, nimbus) : 0;
}

static void __net_exit settings_exit(struct net *net)
{
	struct nimbus_net *nimbus = net_generic(net, net_id);
	const struct ctl_table *table;

	if (!nimbus->header)
		return;
	table = nimbus->header->ctl_table_arg;
	unregister_net_sysctl_table(nimbus->header);
	kfree(table);
}

static struct pernet_operations settings_ops = {
	.init = settings_init,
	.exit = settings_exit,
	.id = &net_id,
	.size = sizeof(struct nimbus_net),
};

int nimbus_settings_register(void)
{
	return register_pernet_subsys(&settings_ops);
}

void nimbus_settings_unregister(void)
{
	unregister_pernet_subsys(&settings_ops);
}

const struct nimbus_settings *nimbus_settings_of(struct net *net)
{
	const struct nimbus_net *nimbus = net_generic(net, net_id);

	return &nimbus->settings;
}
