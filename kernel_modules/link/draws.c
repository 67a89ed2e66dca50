// SPDX-License-Identifier: GPL-2.0
/* The record of the functions that drew random numbers (um/draws.h). */
#include <linux/kernel.h>
#include <linux/module.h>

#include "link.h"

/* Provided by the kernel. */
#define DRAWS_PLACES	1024
u64 ccbench_draws(u32 place, unsigned long *caller);

void draws_finish(void)
{
	struct ccbench_log *log = ccbench_log_open("draws.bin", PAGE_SIZE);
	u32 place;

	if (IS_ERR(log))
		panic("ccbench: cannot write results to the host: error %ld", PTR_ERR(log));
	for (place = 0; place < DRAWS_PLACES; place++) {
		struct ccbench_draws_record *record;
		unsigned long caller;
		u64 count = ccbench_draws(place, &caller);

		if (!count)
			continue;
		record = ccbench_log_append(log, sizeof(*record));
		memset(record, 0, sizeof(*record));
		record->draws = count;
		/* The address is that after the call, which may be the end of the function. */
		scnprintf(record->function, sizeof(record->function), "%ps",
			  (void *)(caller - 1));
	}
}
