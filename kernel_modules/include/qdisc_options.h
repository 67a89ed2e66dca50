/* SPDX-License-Identifier: GPL-2.0 */
/* Options of a qdisc that are attributes of 32 bits: values by the number of the attribute. */
#ifndef _QDISC_OPTIONS_H
#define _QDISC_OPTIONS_H

#include <linux/errno.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>

#define QDISC_MOST_OPTIONS	15

/* The range of an option. Not const, because Linux 6.1 requires pointers to non-const. */
#define QDISC_RANGE(name, least, most) \
	static struct netlink_range_validation name = { .min = least, .max = most }

/* Sets the values that are among the options. */
static inline int qdisc_options_parse(u32 *values, int most, const struct nla_policy *policy,
				      const struct nlattr *options,
				      struct netlink_ext_ack *extack)
{
	struct nlattr *attributes[QDISC_MOST_OPTIONS + 1];
	int err, i;

	err = nla_parse_nested_deprecated(attributes, most, options, policy, extack);
	if (err < 0)
		return err;
	for (i = 1; i <= most; i++)
		if (attributes[i])
			values[i] = nla_get_u32(attributes[i]);
	return 0;
}

/* Reads the values without a lock. */
static inline int qdisc_options_dump(struct sk_buff *skb, const u32 *values, int most)
{
	struct nlattr *options = nla_nest_start(skb, TCA_OPTIONS);
	int i;

	if (!options)
		return -EMSGSIZE;
	for (i = 1; i <= most; i++) {
		if (nla_put_u32(skb, i, READ_ONCE(values[i]))) {
			nla_nest_cancel(skb, options);
			return -EMSGSIZE;
		}
	}
	return nla_nest_end(skb, options);
}

#endif /* _QDISC_OPTIONS_H */
