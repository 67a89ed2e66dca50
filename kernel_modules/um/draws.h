/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions that draw random numbers, and how often.
 *
 * Whether all seeds give the same run cannot be seen from two runs that agree: a congestion
 * control that draws one of seven phases agrees with itself in one pair of seven. So each run
 * reports who drew (link/draws.c).
 *
 * drivers/char/random.c includes this file.
 */
#ifndef _CCBENCH_DRAWS_H
#define _CCBENCH_DRAWS_H

#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/hash.h>

/* Linux draws in some 50 places. */
#define CCBENCH_DRAWS_BITS	10

/* Places in the code by the hash of their address; 0: none. */
static struct {
	unsigned long caller;
	u64 draws;
} ccbench_callers[1 << CCBENCH_DRAWS_BITS];

static void ccbench_drew(unsigned long caller)
{
	u32 start = hash_long(caller, CCBENCH_DRAWS_BITS);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(ccbench_callers); i++) {
		u32 place = (start + i) % ARRAY_SIZE(ccbench_callers);
		unsigned long found = cmpxchg(&ccbench_callers[place].caller, 0, caller);

		if (!found || found == caller) {
			ccbench_callers[place].draws++;
			return;
		}
	}
}

/* Returns the number of draws at a place of the table, and the address of the drawing code. */
u64 ccbench_draws(u32 place, unsigned long *caller);
u64 ccbench_draws(u32 place, unsigned long *caller)
{
	*caller = ccbench_callers[place].caller;
	return ccbench_callers[place].draws;
}
EXPORT_SYMBOL_GPL(ccbench_draws);

#endif /* _CCBENCH_DRAWS_H */
