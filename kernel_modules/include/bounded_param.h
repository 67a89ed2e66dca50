/* SPDX-License-Identifier: GPL-2.0 */
/* Parameters of modules with a range. */
#ifndef _BOUNDED_PARAM_H
#define _BOUNDED_PARAM_H

#include <linux/moduleparam.h>
#include <linux/stringify.h>

/* A parameter stored in an unsigned int; the range is part of its description. */
#define BOUNDED_PARAM(name, variable, low, high, mode, text)				\
static int set_##name(const char *value, const struct kernel_param *param)		\
{											\
	return param_set_uint_minmax(value, param, low, high);				\
}											\
static const struct kernel_param_ops name##_ops = {					\
	.set = set_##name,								\
	.get = param_get_uint,								\
};											\
module_param_cb(name, &name##_ops, &(variable), mode);					\
MODULE_PARM_DESC(name, text " (" __stringify(low) " to " __stringify(high) ")")

#endif /* _BOUNDED_PARAM_H */
