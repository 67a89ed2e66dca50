// SPDX-License-Identifier: GPL-2.0
/* Shapes of the streams that flows send, in slow start and after it. */
#include "rapid.h"
#include "settings.h"

#define RAPID_SLOW_FACTOR	2000	/* m, in thousandths */
#define RAPID_SLOW_SHAPES	5	/* N = 4, 8, 16, 32, 64 */
#define RAPID_SLOW_PACKETS	4

static struct rapid_shape steady_shape;
static struct rapid_shape slow_shapes[RAPID_SLOW_SHAPES];

void rapid_make_shapes(void)
{
	u32 i;

	rapid_shape_init(&steady_shape, rapid_settings.packets, rapid_settings.factor_permille);
	for (i = 0; i < RAPID_SLOW_SHAPES; i++)
		rapid_shape_init(&slow_shapes[i], RAPID_SLOW_PACKETS << i, RAPID_SLOW_FACTOR);
}

void rapid_start_slowly(struct sock *sk, struct rapid *rapid, u64 gap)
{
	rapid->slow_start = 1;
	rapid->slow_shape = 0;
	rapid_set_gap(sk, rapid, gap);
}

void rapid_lengthen(struct rapid *rapid)
{
	if (rapid->slow_shape < RAPID_SLOW_SHAPES - 1)
		rapid->slow_shape++;
}

void rapid_begin_stream(struct rapid *rapid)
{
	rapid->shape = rapid->slow_start ? &slow_shapes[rapid->slow_shape] : &steady_shape;
	rapid->stream_gap = rapid->gap;
	rapid->position = 0;
	rapid->stream++;
}
