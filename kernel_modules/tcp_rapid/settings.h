/* SPDX-License-Identifier: GPL-2.0 */
/* The module's parameters. */
#ifndef _TCP_RAPID_SETTINGS_H
#define _TCP_RAPID_SETTINGS_H

#include <linux/types.h>

/* Writable parameters must be read with READ_ONCE(). */
struct rapid_settings {
	unsigned int	packets;
	unsigned int	factor_permille;
	unsigned int	start_kbps;
	unsigned int	min_kbps;
	unsigned int	min_length;
	unsigned int	decrease;
	unsigned int	tolerance;
	unsigned int	drain_rtts;
	bool	push;
	bool	pathchirp;
};

extern struct rapid_settings rapid_settings;

#endif /* _TCP_RAPID_SETTINGS_H */
