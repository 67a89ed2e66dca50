/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Descriptions of qdiscs and congestion controls in their own modules.
 *
 * ccbench reads them from .modinfo of the compiled module, which the kernel does not load:
 * names, options with units and ranges, properties, and a summary. A described qdisc can be
 * the queue of a bottleneck in a scenario.
 *
 *	CCBENCH_QDISC(early, TCA_EARLY_LIMIT, QDISC_MARKS, "drop-tail that marks early");
 *	CCBENCH_OPTION(early, probability, TCA_EARLY_PROBABILITY,
 *		       OPTION_SCALE(65536) OPTION_RANGE(0, 1) OPTION_DEFAULT(0.1),
 *		       "probability of a mark");
 *	CCBENCH_CCA(mine, CCA_NEEDS_RECEIVER, "a congestion control of mine");
 *
 * Options are netlink attributes of 32 bits. Numbers must be literals or macros, because the
 * preprocessor does not evaluate enumerators.
 */
#ifndef _CCBENCH_DESCRIBE_H
#define _CCBENCH_DESCRIBE_H

#include <linux/module.h>
#include <linux/stringify.h>

/* A qdisc: attribute of the limit in packets, QDISC_* or nothing, summary. */
#define CCBENCH_QDISC(name, limit, properties, summary) \
	MODULE_INFO(ccbench_qdisc, #name " limit=" __stringify(limit) properties ": " summary)

/* Dropped packet when the queue is full: arrival (default), oldest, newest, any. */
#define QDISC_DROPS(packet)		" drops=" #packet
/* The qdisc can mark ECN-capable packets. */
#define QDISC_MARKS			" marks"
/* The qdisc changes headers on purpose, beyond the mark CE. */
#define QDISC_REWRITES			" rewrites"

/* An option of a qdisc: attribute, OPTION_* or nothing, summary. */
#define CCBENCH_OPTION(qdisc, name, attribute, properties, summary) \
	MODULE_INFO(ccbench_option, #qdisc " " #name " attribute=" __stringify(attribute) \
		    properties ": " summary)

/* Unit in scenarios, and factor to the kernel's unit; 1 for whole numbers. */
#define OPTION_UNIT(unit, factor)	" unit=" #unit OPTION_SCALE(factor)
#define OPTION_SCALE(factor)		" scale=" __stringify(factor)
/* Values in the unit of scenarios. */
#define OPTION_RANGE(least, most)	" low=" __stringify(least) " high=" __stringify(most)
#define OPTION_DEFAULT(value)		" default=" __stringify(value)
/* Words, represented by numbers from 0 in the kernel: OPTION_CHOICES(known|estimated). */
#define OPTION_CHOICES(words)		" choices=" #words
/* True or false, represented by 1 or 0 in the kernel. */
#define OPTION_FLAG			" flag high=1"
#define OPTION_REQUIRED			" required"

/* A congestion control: CCA_* or nothing, summary. */
#define CCBENCH_CCA(name, properties, summary) \
	MODULE_INFO(ccbench_cca, #name properties ": " summary)

/* Requires this module at the receiver. */
#define CCA_NEEDS_RECEIVER		" receiver"
/*
 * Requires this feature of the kernel (CCBENCH_FEATURE). Without it, the module must consist of the
 * description only.
 */
#define CCA_NEEDS_FEATURE(feature)	" feature=" #feature
/* Does not work if both hosts use this feature. */
#define CCA_EXCLUDES(feature)		" excludes=" #feature
/* Requires this value of an option at bottlenecks with this qdisc. */
#define CCA_QDISC(qdisc, option, value)	" qdisc=" #qdisc "." #option "." #value
/*
 * Fields of the structure that .get_info fills, in order and without padding; at most 7 fields
 * and 20 bytes. A field is a name with its type (u8 to u64, s8 to s64; default u32) and the factor
 * from the kernel's unit to that of the name (default 1), or for a state the names of its values:
 * CCA_INFO("mode:u8:competitive/delay|eta:u16:0.01|window_packets").
 */
#define CCA_INFO(fields)		" info=" fields

/* A feature of the kernel that some scenarios require. */
#define CCBENCH_FEATURE(name, summary)	MODULE_INFO(ccbench_feature, #name ": " summary)

#endif /* _CCBENCH_DESCRIBE_H */
