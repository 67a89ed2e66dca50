// SPDX-License-Identifier: GPL-2.0
/* Random delays of packets. */
#include <linux/math64.h>

#include "path.h"

int jitter_create(struct jitter *jitter, u64 range_ns, enum random_purpose purpose,
		  const struct ccbench_link_header *header)
{
	jitter->range_ns = range_ns;
	if (!range_ns)
		return 0;
	jitter->draws = path_draws(header, purpose, 0);
	return jitter->draws ? 0 : -ENOMEM;
}

u64 jitter_draw_ns(struct jitter *jitter, u32 mark)
{
	if (!jitter->range_ns)
		return 0;
	return mul_u64_u32_shr(jitter->range_ns,
			       random_u32(&jitter->draws[ccbench_flow(mark) + 1]), 32);
}
