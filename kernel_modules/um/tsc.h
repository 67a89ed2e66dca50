/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The processor's time-stamp counter, as programs of the guest read it: in nanoseconds of the
 * guest's clock.
 *
 * The host's counter would tell programs the real time. Their processes may not read it
 * (ccbench_process.h), and the fault leads here.
 *
 * arch/um/kernel/trap.c includes this file.
 */
#ifndef _CCBENCH_TSC_H
#define _CCBENCH_TSC_H

#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/uaccess.h>
#include <asm/ptrace.h>

/* Executes the current program's instruction if it is RDTSC or RDTSCP. */
static bool ccbench_read_tsc(void)
{
	static const u8 rdtsc[] = { 0x0f, 0x31 }, rdtscp[] = { 0x0f, 0x01, 0xf9 };
	struct uml_pt_regs *regs = &task_pt_regs(current)->regs;
	u8 code[sizeof(rdtscp)] = {};
	unsigned long left;
	u64 now;

	/* The last bytes may be those of a page that does not exist. */
	left = copy_from_user(code, (void __user *)UPT_IP(regs), sizeof(code));
	if (left > sizeof(code) - sizeof(rdtsc))
		return false;
	if (!memcmp(code, rdtsc, sizeof(rdtsc))) {
		UPT_IP(regs) += sizeof(rdtsc);
	} else if (!memcmp(code, rdtscp, sizeof(rdtscp))) {
		UPT_IP(regs) += sizeof(rdtscp);
		regs->gp[HOST_CX] = 0;	/* the number of the processor */
	} else {
		return false;
	}
	now = ktime_get_ns();
	regs->gp[HOST_AX] = lower_32_bits(now);
	regs->gp[HOST_DX] = upper_32_bits(now);
	return true;
}

#endif /* _CCBENCH_TSC_H */
