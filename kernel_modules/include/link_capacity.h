/* SPDX-License-Identifier: GPL-2.0 */
/* Capacity of an emulated link, for the qdisc of its device. */
#ifndef _LINK_CAPACITY_H
#define _LINK_CAPACITY_H

#include <linux/netdevice.h>

/*
 * Returns the bytes that the link of a device can carry between two times of the
 * monotonic clock, past or future, or a negative errno: -EOPNOTSUPP without an emulated
 * link, -ENODATA without an estimate yet. A Wi-Fi link returns its current estimate for
 * any time. Must be looked up by symbol_get().
 */
s64 ccbench_link_capacity(const struct net_device *dev, u64 from_ns, u64 to_ns);

#endif /* _LINK_CAPACITY_H */
