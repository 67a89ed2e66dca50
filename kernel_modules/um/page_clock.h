/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The page with the vDSO and the clock (vdso.h), which all programs share and write to.
 *
 * arch/x86/um/vdso/vma.c includes this file.
 */
#ifndef _CCBENCH_PAGE_CLOCK_H
#define _CCBENCH_PAGE_CLOCK_H

#include <linux/mm.h>
#include <linux/sched/signal.h>

#include "ccbench_vdso.h"

/* Where the kernel writes it (kernel/skas/syscall.c). */
extern struct ccbench_clock *ccbench_page_clock;

static struct page *ccbench_page;

static void __init ccbench_set_clock(struct page *page)
{
	ccbench_page = page;
	ccbench_page_clock = page_address(page) + CCBENCH_CLOCK_OFFSET;
	*ccbench_page_clock = (struct ccbench_clock) { };
}

/* Maps the page at once: a fault that writes to a shared mapping would expect a file. */
static void ccbench_map_clock(struct mm_struct *mm, unsigned long address)
{
	struct vm_area_struct *vma = find_vma(mm, address);

	if (!vma || vma->vm_start != address || vm_insert_page(vma, address, ccbench_page))
		force_fatal_sig(SIGKILL);
}

#endif /* _CCBENCH_PAGE_CLOCK_H */
