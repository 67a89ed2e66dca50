/* SPDX-License-Identifier: GPL-2.0 */
/* Integer sine and cosine from a table. */
#ifndef _TCP_NIMBUS_WAVE_H
#define _TCP_NIMBUS_WAVE_H

#include <linux/types.h>

#define NIMBUS_TURN		500	/* steps per period */
#define NIMBUS_WAVE_BITS	15	/* 2^15 represents 1 */

/* Must be called before the others. */
void nimbus_wave_init(void);
s32 nimbus_sin(u32 step);
s32 nimbus_cos(u32 step);

#endif /* _TCP_NIMBUS_WAVE_H */
