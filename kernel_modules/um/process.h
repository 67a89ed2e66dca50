/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the virtual kernel does first, as a process of its host.
 *
 * This is part of the userspace side of User-Mode Linux.
 */
#ifndef _CCBENCH_PROCESS_H
#define _CCBENCH_PROCESS_H

#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>

static void ccbench_prepare_process(void)
{
	/* The guest's memory begins where a heap would be: the C library makes none. */
	mallopt(M_MMAP_THRESHOLD, 0);
	/* However ccbench ends, its guests end with it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

#endif /* _CCBENCH_PROCESS_H */
