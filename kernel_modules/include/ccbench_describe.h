/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descriptions of qdiscs and congestion controls, in their own modules.
 *
 * ccbench reads them from the compiled module (.modinfo; the kernel keeps nothing
 * of it): names, options with units and ranges, properties, and a line for people.
 * With its description a qdisc can be a bottleneck's queue in a scenario.
 *
 *	CCBENCH_QDISC(early, TCA_EARLY_LIMIT, QDISC_MARKS, "drop-tail that marks early");
 *	CCBENCH_OPTION(early, probability, TCA_EARLY_PROBABILITY,
 *		       OPTION_SCALE(65536) OPTION_RANGE(0, 1) OPTION_DEFAULT(0.1),
 *		       "probability of a mark");
 *	CCBENCH_CCA(mine, CCA_NEEDS_RECEIVER, "a congestion control of mine");
 *
 * Options are netlink attributes of 32 bits. Numbers are literals or macros: the
 * preprocessor does not know the values of enumerators.
 */
#ifndef _CCBENCH_DESCRIBE_H
#define _CCBENCH_DESCRIBE_H

#include <linux/module.h>
#include <linux/stringify.h>

/* A qdisc: the attribute of its limit in packets (0: none), QDISC_* or nothing, a summary. */
#define CCBENCH_QDISC(name, limit, properties, summary) \
	MODULE_INFO(ccbench_qdisc, #name " limit=" __stringify(limit) properties ": " summary)

/* Which packet leaves when an arrival finds no room: arrival (also left out), oldest, newest, any. */
#define QDISC_DROPS(packet)		" drops=" #packet
/* It can mark packets of ECN. */
#define QDISC_MARKS			" marks"

/* An option of a qdisc: its attribute, OPTION_* or nothing, a summary. */
#define CCBENCH_OPTION(qdisc, name, attribute, properties, summary) \
	MODULE_INFO(ccbench_option, #qdisc " " #name " attribute=" __stringify(attribute) \
		    properties ": " summary)

/* The unit of values in scenarios, and its factor to the kernel's; 1 for whole numbers. */
#define OPTION_UNIT(unit, factor)	" unit=" #unit OPTION_SCALE(factor)
#define OPTION_SCALE(factor)		" scale=" __stringify(factor)
/* Values in scenarios, in their unit. */
#define OPTION_RANGE(least, most)	" low=" __stringify(least) " high=" __stringify(most)
#define OPTION_DEFAULT(value)		" default=" #value
/* Words, which the kernel numbers from 0: OPTION_CHOICES(known|estimated). */
#define OPTION_CHOICES(words)		" choices=" #words
/* True or false: 1 or 0 in the kernel. */
#define OPTION_FLAG			" flag high=1"
#define OPTION_REQUIRED			" required"

/* A congestion control: CCA_* or nothing, a summary. */
#define CCBENCH_CCA(name, properties, summary) \
	MODULE_INFO(ccbench_cca, #name properties ": " summary)

/* Its receiver has to take part, so the other end must have this module too. */
#define CCA_NEEDS_RECEIVER		" receiver"
/* Where a bottleneck has this qdisc, it must be with this value of an option. */
#define CCA_QDISC(qdisc, option, value)	" qdisc=" #qdisc "." #option "." #value

/*
 * Fields of the structure that .get_info fills, in order and without padding; at most 7 fields
 * and 20 bytes. A field is a name with its type (u8 to u64, s8 to s64; default u32) and the factor
 * from the kernel's unit to that of the name (default 1):
 * CCA_INFO("mode:u8|role:u8|eta:u16:0.01|window_packets").
 */
#define CCA_INFO(fields)		" info=" fields

#endif /* _CCBENCH_DESCRIBE_H */
