/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Functions of Linux that may sleep, and have at most four integers or pointers as arguments. The
 * calls of a user's modules are checked (own_calls.h, flows/context.c).
 */
#define SLEEPING_CALLS(call) \
	call(mutex_lock) call(mutex_lock_interruptible) call(lock_sock_nested) call(rtnl_lock) \
	call(down) call(down_interruptible) call(down_read) call(down_write) \
	call(msleep) call(msleep_interruptible) call(usleep_range_state) \
	call(schedule) call(schedule_timeout) call(schedule_timeout_interruptible) \
	call(schedule_timeout_uninterruptible) \
	call(wait_for_completion) call(wait_for_completion_timeout) \
	call(synchronize_rcu) call(synchronize_net) call(kthread_stop) \
	call(flush_work) call(__flush_workqueue) call(cancel_work_sync) \
	call(cancel_delayed_work_sync)
