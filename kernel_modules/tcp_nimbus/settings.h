/* SPDX-License-Identifier: GPL-2.0 */
/* Settings of a network namespace: net.ipv4.tcp_nimbus_*. */
#ifndef _TCP_NIMBUS_SETTINGS_H
#define _TCP_NIMBUS_SETTINGS_H

#include <linux/types.h>

struct net;

/* Connections take them when they are made. */
struct nimbus_settings {
	u32	link_kbps;	/* mu; 0: what was received at most */
	u32	pulse_permille;	/* height of a pulse, of mu */
	u32	pulses;		/* in 5 s: f_p, or f_pc where flows elect a pulser */
	u32	delay_pulses;	/* f_pd */
	u32	threshold_percent;	/* eta from which on the others are elastic */
	u32	hold_ms;	/* that the TCP-competitive mode lasts at least */
	u32	target_us;	/* BasicDelay's d_t */
	u32	alpha_permille;
	u32	beta_permille;
	u32	window_us;	/* of S and R; 0: the RTT */
	u32	elect;		/* one pulser among several flows? */
	u32	kappa_percent;	/* of the election: pulsers that become one in an FFT's length */
};

int nimbus_settings_register(void);
void nimbus_settings_unregister(void);
const struct nimbus_settings *nimbus_settings_of(struct net *net);

#endif /* _TCP_NIMBUS_SETTINGS_H */
