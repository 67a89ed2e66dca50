/* SPDX-License-Identifier: GPL-2.0 */
/* Settings of a network namespace: net.ipv4.tcp_nimbus_*. */
#ifndef _TCP_NIMBUS_SETTINGS_H
#define _TCP_NIMBUS_SETTINGS_H

#include <linux/types.h>

struct net;

/* Copied when a connection is established. */
struct nimbus_settings {
	u32	link_kbps;	/* mu; 0: measured */
	u32	pulse_permille;	/* height of a pulse relative to mu */
	u32	pulses;		/* per 5 s: f_p, or f_pc with elect */
	u32	delay_pulses;	/* per 5 s: f_pd */
	u32	threshold_percent;	/* eta of elastic cross traffic */
	u32	hold_ms;	/* minimum duration of the TCP-competitive mode */
	u32	target_us;	/* BasicDelay's d_t */
	u32	alpha_permille;
	u32	beta_permille;
	u32	window_us;	/* of S and R; 0: the RTT */
	u32	elect;		/* elect one pulser among several flows */
	u32	kappa_percent;	/* expected number of new pulsers per length of the FFT */
};

int nimbus_settings_register(void);
void nimbus_settings_unregister(void);
const struct nimbus_settings *nimbus_settings_of(struct net *net);

#endif /* _TCP_NIMBUS_SETTINGS_H */
