/* SPDX-License-Identifier: GPL-2.0 */
/* The asymmetric pulse (figure 6). */
#ifndef _TCP_NIMBUS_PULSE_H
#define _TCP_NIMBUS_PULSE_H

#include <linux/types.h>

/* The lower half-sine has a third of the upper one's height. */
#define NIMBUS_PULSE_DOWN	3

/* What is added to the rate `phase_ns` after a pulse began, in the unit of `height`. */
s64 nimbus_pulse(u32 phase_ns, u32 period_ns, u32 height);
/* What a pulse adds to the queue before it takes it away again, in bytes. */
u32 nimbus_pulse_burst(u32 period_ns, u32 height_bytes_per_s);

#endif /* _TCP_NIMBUS_PULSE_H */
