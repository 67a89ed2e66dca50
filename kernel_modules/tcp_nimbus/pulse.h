/* SPDX-License-Identifier: GPL-2.0 */
/* The asymmetric pulse (figure 6). */
#ifndef _TCP_NIMBUS_PULSE_H
#define _TCP_NIMBUS_PULSE_H

#include <linux/types.h>

/* Height of the positive half-sine divided by that of the negative one. */
#define NIMBUS_PULSE_DOWN	3

/* Change of the rate `phase_ns` after the start of a pulse, in the unit of `height`. */
s64 nimbus_pulse(u32 phase_ns, u32 period_ns, u32 height);
/* Bytes that a pulse adds to the queue before it removes them. */
u32 nimbus_pulse_burst(u32 period_ns, u32 height_bytes_per_s);

#endif /* _TCP_NIMBUS_PULSE_H */
