// SPDX-License-Identifier: GPL-2.0
/* The delay profile: moving means of delays by window, and a curve through them. */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "profile.h"

#define OLD_EIGHTHS	7U	/* weight of the mean in a new mean */
#define LEAST_NODES	5U

void verus_profile_clear(struct verus_profile *profile)
{
	memset(profile, 0, sizeof(*profile));
}

void verus_profile_add(struct verus_profile *profile, u32 window, u32 delay_us)
{
	u32 *mean = &profile->delays_us[clamp(window, 1U, VERUS_MAX_WINDOW)];

	delay_us = max(delay_us, 1U);
	*mean = *mean ? ((u64)*mean * OLD_EIGHTHS + delay_us) >> 3 : delay_us;
}

static u32 largest_window(const struct verus_profile *profile)
{
	u32 window = VERUS_MAX_WINDOW;

	while (window && !profile->delays_us[window])
		window--;
	return window;
}

void verus_profile_fit(struct verus_profile *profile)
{
	u32 largest = largest_window(profile);
	u32 step = clamp(largest / LEAST_NODES, 1U, VERUS_MAX_STEP);
	u64 windows = 0, delays_us = 0;
	u32 window, points = 0;

	profile->count = 0;
	for (window = 1; window <= largest; window++) {
		if (profile->delays_us[window]) {
			windows += window;
			delays_us += profile->delays_us[window];
			points++;
		}
		if (points && (window % step == 0 || window == largest)) {
			profile->nodes[profile->count++] = (struct verus_node) {
				.window = div_u64(windows, points),
				.delay_us = div_u64(delays_us, points),
			};
			windows = 0;
			delays_us = 0;
			points = 0;
		}
	}
}

/* The value at x of the line through two points, at least 0. */
static u32 on_line(u32 x, u32 x1, u32 y1, u32 x2, u32 y2)
{
	s64 rise = (s64)y2 - y1;

	if (x2 == x1)
		return y2;
	return max(y1 + div_s64(rise * ((s64)x - x1), (s64)x2 - x1), 0LL);
}

/* The last rising part of the curve, by which it goes on; false if it does not rise. */
static bool last_rise(const struct verus_profile *profile, const struct verus_node **from)
{
	const struct verus_node *last = &profile->nodes[profile->count - 1];
	u32 i;

	for (i = profile->count - 1; i-- > 0; ) {
		*from = &profile->nodes[i];
		if ((*from)->delay_us < last->delay_us)
			return true;
	}
	return false;
}

u32 verus_window_of(const struct verus_profile *profile, u32 delay_us)
{
	const struct verus_node *last, *from;
	u32 i, window;

	if (!profile->count)
		return 1;
	/* The first window with a longer delay. */
	for (i = 0; i < profile->count; i++)
		if (profile->nodes[i].delay_us > delay_us)
			break;
	if (!i)
		return 1;
	last = &profile->nodes[i - 1];
	if (i < profile->count)
		return on_line(delay_us, last->delay_us, last->window,
			       profile->nodes[i].delay_us, profile->nodes[i].window);
	if (!last_rise(profile, &from))
		return min(last->window + VERUS_MAX_STEP, VERUS_MAX_WINDOW);
	window = on_line(delay_us, from->delay_us, from->window, last->delay_us, last->window);
	return clamp(window, last->window, VERUS_MAX_WINDOW);
}

u32 verus_delay_of(const struct verus_profile *profile, u32 window)
{
	const struct verus_node *nodes = profile->nodes;
	u32 i;

	if (!profile->count)
		return 0;
	for (i = 0; i < profile->count - 1 && nodes[i].window < window; i++)
		;
	if (!i)
		return nodes[0].delay_us;
	return on_line(window, nodes[i - 1].window, nodes[i - 1].delay_us,
		       nodes[i].window, nodes[i].delay_us);
}
