// SPDX-License-Identifier: GPL-2.0
/* The module's parameters, in /sys/module/tcp_rapid/parameters. */
#include <linux/module.h>

#include "bounded_param.h"
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

#define RAPID_PARAMETER(name, low, high, mode, text) \
	BOUNDED_PARAM(name, rapid_settings.name, low, high, mode, text)

RAPID_PARAMETER(packets, 8, 64, 0444, "packets of a stream, N");
RAPID_PARAMETER(factor_permille, 1010, 2000, 0444, "ratio of successive rates of a stream, 1000 m");
RAPID_PARAMETER(start_kbps, 8, 1000000, 0644, "initial r_avg, kbit/s of IP");
RAPID_PARAMETER(min_kbps, 8, 1000000, 0644, "minimum r_avg, kbit/s of IP");
RAPID_PARAMETER(min_length, 2, 32, 0644, "minimum length of growing delays in packets");
RAPID_PARAMETER(decrease, 1, 1000, 0644, "growth ends when 1/decrease of it remains");
RAPID_PARAMETER(tolerance, 0, 1000, 0644, "1/tolerance of the growth is noise, 0: no noise");
RAPID_PARAMETER(drain_rtts, 0, 100, 0644, "round trips in which a standing queue drains, 0: never");
module_param_named(push, rapid_settings.push, bool, 0644);
MODULE_PARM_DESC(push, "request an ACK of each packet");
module_param_named(pathchirp, rapid_settings.pathchirp, bool, 0644);
MODULE_PARM_DESC(pathchirp, "estimate as PathChirp, without decrease and tolerance");
