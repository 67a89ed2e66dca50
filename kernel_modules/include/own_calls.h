/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before the first line of a user's modules: these calls, also in functions of Linux's
 * headers, are calls of functions that check them (flows/memory.c, flows/guard.c, flows/context.c).
 */
__asm__(".set kfree, ccbench_kfree");
__asm__(".set kfree_sensitive, ccbench_kfree");
__asm__(".set mod_timer, ccbench_mod_timer");
__asm__(".set add_timer, ccbench_add_timer");
__asm__(".set hrtimer_start_range_ns, ccbench_hrtimer_start");
__asm__(".set qdisc_watchdog_schedule_range_ns, ccbench_watchdog_schedule");
__asm__(".set queue_delayed_work_on, ccbench_queue_delayed_work");
__asm__(".set mod_delayed_work_on, ccbench_mod_delayed_work");
__asm__(".set register_qdisc, ccbench_register_qdisc");

/* Functions of TCP that change its fields. */
__asm__(".set tcp_enter_cwr, ccbench_enter_cwr");
__asm__(".set __tcp_send_ack, ccbench_send_ack");

/* Functions that may sleep. */
__asm__(".set __kmalloc_cache_noprof, ccbench_kmalloc_cache");
__asm__(".set kmalloc_trace_noprof, ccbench_kmalloc_cache");
__asm__(".set kmalloc_trace, ccbench_kmalloc_cache");
__asm__(".set __kmalloc_noprof, ccbench_kmalloc");
__asm__(".set __kmalloc, ccbench_kmalloc");
#include "sleeping_calls.h"
#define CCBENCH_REPLACE(function)	__asm__(".set " #function ", ccbench_" #function);
SLEEPING_CALLS(CCBENCH_REPLACE)

/*
 * With one processor, spinlocks have no code: they are counted by Linux's annotations, which its
 * definitions of locks contain. RCU is not counted: those of its guards are unequal.
 */
extern int ccbench_locks;

#undef __acquire
#undef __release
#define CCBENCH_IS_LOCK(lock)	!!__builtin_strncmp(#lock, "RCU", 3)
#define __acquire(lock)	((void)(ccbench_locks += CCBENCH_IS_LOCK(lock)))
#define __release(lock)	((void)(ccbench_locks -= CCBENCH_IS_LOCK(lock)))
#ifdef __acquire_shared	/* since Linux 7.0 */
#undef __acquire_shared
#undef __release_shared
#define __acquire_shared(lock)	((void)(ccbench_locks += CCBENCH_IS_LOCK(lock)))
#define __release_shared(lock)	((void)(ccbench_locks -= CCBENCH_IS_LOCK(lock)))
#endif
