// SPDX-License-Identifier: GPL-2.0
/*
 * The context in which a user's modules are called. A hook must not sleep, and must leave locks,
 * softirqs and interrupts as they were: Linux with one processor continues after most of these
 * errors, so that a run would look like a result.
 */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/export.h>
#include <linux/gfp.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/preempt.h>
#include <linux/rtnetlink.h>
#include <linux/rwsem.h>
#include <linux/semaphore.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/workqueue.h>
#include <net/sock.h>

#include "flows.h"
#include "sleeping_calls.h"

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define KMALLOC_CACHE	__kmalloc_cache_noprof
#define KMALLOC		__kmalloc_noprof
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define KMALLOC_CACHE	kmalloc_trace_noprof
#define KMALLOC		__kmalloc_noprof
#else
#define KMALLOC_CACHE	kmalloc_trace
#define KMALLOC		__kmalloc
#endif

int ccbench_locks;
EXPORT_SYMBOL(ccbench_locks);

u32 context_hooks;

void context_take(struct context *context)
{
	*context = (struct context) { preempt_count(), ccbench_locks, irqs_disabled() };
}

const char *context_difference(const struct context *context)
{
	if (unlikely(ccbench_locks != context->locks))
		return ccbench_locks > context->locks ?
			"leaves a spinlock locked" :
			"unlocks a spinlock that it has not locked";
	if (unlikely(preempt_count() != context->preempted))
		return "leaves softirqs disabled, or enables them (local_bh_disable, spin_lock_bh)";
	if (unlikely(irqs_disabled() != context->irqs_off))
		return "leaves interrupts disabled, or enables them (local_irq_save, spin_lock_irqsave)";
	return NULL;
}

void context_enter(struct context *context)
{
	context_hooks++;
	context_take(context);
}

const char *context_leave(const struct context *context)
{
	context_hooks--;
	return context_difference(context);
}

static void may_sleep(const char *function, const void *caller)
{
	if (unlikely(context_hooks || ccbench_locks || in_softirq() || irqs_disabled()))
		panic("ccbench: context: %pS calls %s, which may sleep, in a hook or with a lock\n",
		      caller, function);
}

static void may_allocate(gfp_t flags, const void *caller)
{
	if (gfpflags_allow_blocking(flags))
		may_sleep("kmalloc(GFP_KERNEL)", caller);
}

/* Fills allocated memory that is not zero, and what follows it in its slab. */
static void *filled(void *object, gfp_t flags, size_t bytes)
{
	const size_t begin = flags & __GFP_ZERO ? bytes : 0;

	if (!ZERO_OR_NULL_PTR(object))
		memory_fill(object + begin, ksize(object) - begin);
	return object;
}

void *ccbench_kmalloc_cache(struct kmem_cache *cache, gfp_t flags, size_t bytes);
void *ccbench_kmalloc(size_t bytes, gfp_t flags);

void *ccbench_kmalloc_cache(struct kmem_cache *cache, gfp_t flags, size_t bytes)
{
	may_allocate(flags, __builtin_return_address(0));
	return filled(KMALLOC_CACHE(cache, flags, bytes), flags, bytes);
}
EXPORT_SYMBOL(ccbench_kmalloc_cache);

void *ccbench_kmalloc(size_t bytes, gfp_t flags)
{
	may_allocate(flags, __builtin_return_address(0));
	return filled(KMALLOC(bytes, flags), flags, bytes);
}
EXPORT_SYMBOL(ccbench_kmalloc);

/* What a function calls before and after it sleeps is compared separately, as others run meanwhile. */
#define SLEEPING(function) \
	long ccbench_##function(long a, long b, long c, long d); \
	long ccbench_##function(long a, long b, long c, long d) \
	{ \
		long (*call)(long a, long b, long c, long d) = (void *)function; \
		long result; \
		\
		may_sleep(#function "()", __builtin_return_address(0)); \
		calls_pause(); \
		result = call(a, b, c, d); \
		calls_resume(); \
		return result; \
	} \
	EXPORT_SYMBOL(ccbench_##function);
SLEEPING_CALLS(SLEEPING)
