/* SPDX-License-Identifier: GPL-2.0 */
/* What an emulated link tells a qdisc in front of it. */
#ifndef _LINK_CAPACITY_H
#define _LINK_CAPACITY_H

#include <linux/netdevice.h>

/*
 * The bytes that the link behind a device can carry between two times of the
 * monotonic clock, past or to come, or a negative errno: -EOPNOTSUPP if there
 * is no such link. To be looked up with symbol_get().
 */
s64 ccbench_link_capacity(const struct net_device *dev, u64 from_ns, u64 to_ns);

#endif /* _LINK_CAPACITY_H */
