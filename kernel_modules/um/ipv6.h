/* SPDX-License-Identifier: GPL-2.0 */
/*
 * IPv6 is off by default, and "ipv6.disable=0" on the command line switches it on.
 *
 * At boot and in each network namespace, IPv6 draws random numbers, so that it would change
 * those of runs without IPv6. Nor may the command line of these runs mention it: the kernel
 * mixes the whole line into its random numbers.
 *
 * arch/um/kernel/um_arch.c includes this file.
 */
#ifndef _CCBENCH_IPV6_H
#define _CCBENCH_IPV6_H

#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

static void __init ccbench_disable_ipv6(void)
{
	static char parameter[] __initdata = "ipv6.disable=1";

	if (!strstr(saved_command_line, "ipv6.disable="))
		parse_args("ccbench", parameter, __start___param,
			   __stop___param - __start___param, -1, -1, NULL, NULL);
}

#endif /* _CCBENCH_IPV6_H */
