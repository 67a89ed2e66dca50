// SPDX-License-Identifier: GPL-2.0
/* Rates over a sliding window. */
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "sch_abc.h"

/* Maximum number of slots per window; METER_SLOTS includes slots that begin before it. */
#define SLOTS_PER_WINDOW	256

static u32 slot(const struct abc_meter *meter, u32 i)
{
	return (meter->first + i) % METER_SLOTS;
}

void abc_meter_init(struct abc_meter *meter, u64 window_ns)
{
	memset(meter, 0, sizeof(*meter));
	meter->window_ns = window_ns;
	meter->finest_ns = window_ns / SLOTS_PER_WINDOW;
}

/* Removes slots that end before the window. */
static void forget(struct abc_meter *meter, u64 begin_ns)
{
	while (meter->count > 1 && meter->slots[slot(meter, 1)].start_ns <= begin_ns) {
		meter->total -= meter->slots[meter->first].bytes;
		meter->first = slot(meter, 1);
		meter->count--;
	}
}

void abc_meter_add(struct abc_meter *meter, u64 now_ns, u32 bytes)
{
	u32 last = slot(meter, meter->count - 1);

	meter->total += bytes;
	if (meter->count && now_ns - meter->slots[last].start_ns < meter->finest_ns) {
		meter->slots[last].bytes += bytes;
		return;
	}
	forget(meter, now_ns > meter->window_ns ? now_ns - meter->window_ns : 0);
	last = slot(meter, meter->count++);
	meter->slots[last].start_ns = now_ns;
	meter->slots[last].bytes = bytes;
}

u64 abc_meter_rate(struct abc_meter *meter, u64 now_ns)
{
	const u64 begin_ns = now_ns > meter->window_ns ? now_ns - meter->window_ns : 0;
	u64 bytes, start_ns, end_ns;

	forget(meter, begin_ns);
	if (!meter->count)
		return 0;
	bytes = meter->total;
	/* Bytes added at this instant are not sent yet. */
	if (meter->slots[slot(meter, meter->count - 1)].start_ns >= now_ns)
		bytes -= meter->slots[slot(meter, meter->count - 1)].bytes;
	/* Only the part of the oldest slot within the window counts. */
	start_ns = meter->slots[meter->first].start_ns;
	end_ns = meter->count > 1 ? meter->slots[slot(meter, 1)].start_ns : now_ns;
	if (start_ns < begin_ns)
		bytes -= mul_u64_u64_div_u64(meter->slots[meter->first].bytes,
					     begin_ns - start_ns, end_ns - start_ns);
	return mul_u64_u64_div_u64(bytes, NSEC_PER_SEC, meter->window_ns);
}
