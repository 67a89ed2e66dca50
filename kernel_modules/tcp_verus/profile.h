/* SPDX-License-Identifier: GPL-2.0 */
/* The delay profile of Verus: the delay of packets by the packets in flight. */
#ifndef _TCP_VERUS_PROFILE_H
#define _TCP_VERUS_PROFILE_H

#include <linux/types.h>

#define VERUS_MAX_WINDOW	2048U
#define VERUS_MAX_STEP		15U	/* windows between two nodes of the curve */
#define VERUS_MAX_NODES		(VERUS_MAX_WINDOW / VERUS_MAX_STEP + 5)

struct verus_node {
	u32	window;
	u32	delay_us;
};

struct verus_profile {
	u32	delays_us[VERUS_MAX_WINDOW + 1];	/* means by window; 0: none */
	struct verus_node nodes[VERUS_MAX_NODES];	/* of the curve through them */
	u32	count;
};

void verus_profile_clear(struct verus_profile *profile);
void verus_profile_add(struct verus_profile *profile, u32 window, u32 delay_us);

/* Fits the curve to the means. */
void verus_profile_fit(struct verus_profile *profile);

/* The window of a delay by the curve, and the delay of a window. */
u32 verus_window_of(const struct verus_profile *profile, u32 delay_us);
u32 verus_delay_of(const struct verus_profile *profile, u32 window);

#endif /* _TCP_VERUS_PROFILE_H */
