/* SPDX-License-Identifier: GPL-2.0 */
/* Sine and cosine in integers, from a table. */
#ifndef _TCP_NIMBUS_WAVE_H
#define _TCP_NIMBUS_WAVE_H

#include <linux/types.h>

#define NIMBUS_TURN		500	/* steps of a full turn */
#define NIMBUS_WAVE_BITS	15	/* 1 is 2^15 */

/* To be called once, before the others. */
void nimbus_wave_init(void);
s32 nimbus_sin(u32 step);
s32 nimbus_cos(u32 step);

#endif /* _TCP_NIMBUS_WAVE_H */
