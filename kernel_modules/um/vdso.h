/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's clock for programs that read it without a system call.
 *
 * More than half of the system calls of a QUIC stack read the clock, which advances only in the
 * kernel. The kernel writes it to the page of the vDSO before a program continues. A program
 * that reads it again and again may be waiting: after many times without a moment in which all
 * programs sleep, it calls the kernel, where time passes (polling.h).
 *
 * arch/x86/um/vdso/um_vdso.c, a part of programs, includes this file, and so does vma.c there,
 * which passes the page on to arch/um/kernel/skas/syscall.c.
 */
#ifndef _CCBENCH_VDSO_H
#define _CCBENCH_VDSO_H

#define CCBENCH_VDSO_PAGE	4096UL
#define CCBENCH_FREE_READS	1000

/* At the end of the page. */
struct ccbench_clock {
	unsigned long long monotonic_ns;
	unsigned long long real_ns;
	unsigned long long reads;	/* since all programs slept */
};

#define CCBENCH_CLOCK_OFFSET	(CCBENCH_VDSO_PAGE - sizeof(struct ccbench_clock))

/* Returns whether the page has the time of a clock, and the time. */
static inline int ccbench_read_clock(int clock, unsigned long long *ns)
{
	unsigned long page;
	volatile struct ccbench_clock *now;

	/* The image is a page. */
	asm("lea 0(%%rip), %0" : "=r" (page));
	now = (void *)((page & ~(CCBENCH_VDSO_PAGE - 1)) + CCBENCH_CLOCK_OFFSET);
	if (now->reads >= CCBENCH_FREE_READS)
		return 0;
	switch (clock) {
	case 0:		/* CLOCK_REALTIME */
		*ns = now->real_ns;
		break;
	case 1:		/* CLOCK_MONOTONIC */
	case 4:		/* CLOCK_MONOTONIC_RAW */
	case 7:		/* CLOCK_BOOTTIME */
		*ns = now->monotonic_ns;
		break;
	default:
		return 0;
	}
	now->reads++;
	return 1;
}

#endif /* _CCBENCH_VDSO_H */
