/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of modules: below 2 GB like the kernel, so that modules call it, and use its data and
 * their own, by addresses of 32 bits.
 *
 * arch/um/kernel/um_arch.c includes this file. Before Linux 6.10, the edited MODULES_VADDR and
 * MODULES_END (asm/pgtable.h) suffice.
 */
#ifndef _CCBENCH_MODULES_H
#define _CCBENCH_MODULES_H

#if __has_include(<linux/execmem.h>)
#include <linux/cache.h>
#include <linux/execmem.h>
#include <linux/init.h>
#include <linux/pgtable.h>

struct execmem_info __init *execmem_arch_setup(void)
{
	static struct execmem_info info __ro_after_init;

	info.ranges[EXECMEM_DEFAULT] = (struct execmem_range) {
		.start = MODULES_VADDR,
		.end = MODULES_END,
		.pgprot = PAGE_KERNEL_EXEC,
		.alignment = 1,
	};
	return &info;
}
#endif

#endif /* _CCBENCH_MODULES_H */
