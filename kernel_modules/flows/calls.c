// SPDX-License-Identifier: GPL-2.0
/*
 * Calls of a user's modules outside of hooks, such as those of timers, work items, threads and
 * qdiscs: they may set the window and the pacing of a flow, and not what belongs to TCP.
 *
 * The compiler adds calls of the two functions here at the begin and the end of each function of
 * a user's modules (emulate/kernel/source/guest.py). The outermost function is compared; what
 * interrupts it is another call.
 */
#include <linux/export.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <net/tcp.h>

#include "flows.h"

/* A task, a softirq, and an interrupt. */
#define LEVELS	3

static struct call {
	void *function;
	const struct task_struct *task;
	u32 depth;		/* functions of the call */
	struct context context;
	struct image image;	/* of the socket of a flow, if it has one */
} calls[LEVELS];

static struct call *current_call(void)
{
	return &calls[in_hardirq() ? 2 : in_serving_softirq() ? 1 : 0];
}

void calls_end_image(void)
{
	current_call()->image.sk = NULL;
}

static void begin(struct call *call, void *function)
{
	const struct sock *sk = image_is_due() ? sockets_next(NULL) : NULL;

	call->function = function;
	call->task = current;
	call->image.sk = NULL;
	if (unlikely(sk))
		image_take(&call->image, sk);
	context_take(&call->context);
}

static __cold void fail(const struct call *call, const char *problem)
{
	panic("ccbench: function: %pS, which is no hook, %s, at %llu ns\n", call->function, problem,
	      ccbench_now_ns());
}

static void check_image(const struct call *call)
{
	const char *difference = image_difference(&call->image, IMAGE_CONTROL);
	char problem[192];

	if (image_is_void(&call->image))
		return;
	if (unlikely(difference))
		snprintf(problem, sizeof(problem), "changes %s of flow %u, which belongs to TCP",
			 difference, ccbench_flow(call->image.sk->sk_mark));
	else if (unlikely(!sockets_is_possible(call->image.sk)))
		snprintf(problem, sizeof(problem),
			 "sets a window, an ssthresh or a pacing rate of 0, or a window of 2^31 packets or more of flow %u",
			 ccbench_flow(call->image.sk->sk_mark));
	else
		return;
	fail(call, problem);
}

static void end(const struct call *call)
{
	const char *left = context_difference(&call->context);

	if (unlikely(left))
		fail(call, left);
	if (unlikely(call->image.sk))
		check_image(call);
}

/* Returns the call in which the current task is, or NULL. */
static struct call *paused_call(void)
{
	struct call *call = current_call();

	return !context_is_hook() && call->depth && call->task == current ? call : NULL;
}

void calls_pause(void)
{
	struct call *call = paused_call();

	if (call)
		end(call);
}

void calls_resume(void)
{
	struct call *call = paused_call();

	if (call)
		begin(call, call->function);
}

/* While a task sleeps in a function, such as that of a thread, those of others are not compared. */
static noinline void enter(void *function)
{
	struct call *call = current_call();

	if (call->depth && call->task != current)
		return;
	if (!call->depth++)
		begin(call, function);
}

static noinline void leave(void)
{
	struct call *call = current_call();

	if (!call->depth || call->task != current)
		return;
	if (!--call->depth)
		end(call);
}

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

/* In hooks, both need no stack, so that its overflow is one of the user's function. */
void __cyg_profile_func_enter(void *function, void *caller)
{
	if (!context_is_hook())
		enter(function);
}
EXPORT_SYMBOL(__cyg_profile_func_enter);

void __cyg_profile_func_exit(void *function, void *caller)
{
	if (!context_is_hook())
		leave();
}
EXPORT_SYMBOL(__cyg_profile_func_exit);
