// SPDX-License-Identifier: GPL-2.0
/* The module's parameters, in /sys/module/tcp_rapid/parameters. */
#include <linux/module.h>

#include "settings.h"

struct rapid_settings rapid_settings __read_mostly = {
	.packets = 22,
	.factor_permille = 1070,
	.start_kbps = 850,
	.min_kbps = 100,
	.min_length = 5,
	.decrease = 8,
	.tolerance = 64,
	.drain_rtts = 1,
	.push = true,
};

#define RAPID_PARAMETER(name, low, high, mode, text)					\
static int rapid_set_##name(const char *value, const struct kernel_param *param)	\
{											\
	return param_set_uint_minmax(value, param, low, high);				\
}											\
static const struct kernel_param_ops rapid_##name##_ops = {				\
	.set = rapid_set_##name,							\
	.get = param_get_uint,								\
};											\
module_param_cb(name, &rapid_##name##_ops, &rapid_settings.name, mode);				\
MODULE_PARM_DESC(name, text " (" #low " to " #high ")")

RAPID_PARAMETER(packets, 8, 64, 0444, "packets of a stream, N");
RAPID_PARAMETER(factor_permille, 1010, 2000, 0444, "a rate of a stream by the one before, 1000 m");
RAPID_PARAMETER(start_kbps, 8, 1000000, 0644, "first r_avg, kbit/s of IP");
RAPID_PARAMETER(min_kbps, 8, 1000000, 0644, "least r_avg, kbit/s of IP");
RAPID_PARAMETER(min_length, 2, 32, 0644, "packets by which delays must grow");
RAPID_PARAMETER(decrease, 1, 1000, 0644, "growth is over when this part of it is left");
RAPID_PARAMETER(tolerance, 0, 1000, 0644, "this part of the growth is noise, 0: nothing is");
RAPID_PARAMETER(drain_rtts, 0, 100, 0644, "round trips for a standing queue to go, 0: never");
module_param_named(push, rapid_settings.push, bool, 0644);
MODULE_PARM_DESC(push, "have receivers acknowledge each packet");
module_param_named(pathchirp, rapid_settings.pathchirp, bool, 0644);
MODULE_PARM_DESC(pathchirp, "estimate as PathChirp does; decrease and tolerance do not count");
