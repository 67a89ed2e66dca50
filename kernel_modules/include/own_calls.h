/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before the first line of a user's modules: these calls, also in functions of Linux's
 * headers, are calls of functions that check them (flows/memory.c).
 */
__asm__(".set kfree, ccbench_kfree");
__asm__(".set kfree_sensitive, ccbench_kfree");
__asm__(".set mod_timer, ccbench_mod_timer");
__asm__(".set add_timer, ccbench_add_timer");
__asm__(".set hrtimer_start_range_ns, ccbench_hrtimer_start");
