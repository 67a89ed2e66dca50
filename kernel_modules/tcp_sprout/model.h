/* SPDX-License-Identifier: GPL-2.0 */
/* Sprout's model of a link: the probability of each rate, and forecasts from it. */
#ifndef _TCP_SPROUT_MODEL_H
#define _TCP_SPROUT_MODEL_H

#include <linux/types.h>

#define SPROUT_RATES		256U	/* from 0 to SPROUT_MAX_RATE, at equal distances */
#define SPROUT_MAX_RATE		1000U	/* packets per second */
#define SPROUT_TICK_US		20000U
#define SPROUT_AHEAD_TICKS	6U	/* of the longest forecast */
#define SPROUT_MAX_ARRIVALS	40U	/* in a tick, twice the mean at the highest rate */

#define SPROUT_ONE		BIT(30)	/* a probability of 1 */

/* Probabilities of the rates, in units of 1 / SPROUT_ONE. */
struct sprout_belief {
	u32	of[SPROUT_RATES];
};

int sprout_model_init(void);
void sprout_model_exit(void);

/* All rates are equally likely. */
void sprout_know_nothing(struct sprout_belief *belief);

/* Writes what is known a tick later, without an observation, to next. */
void sprout_evolve(const struct sprout_belief *belief, struct sprout_belief *next);

/* Updates the probabilities by the packets that arrived in a tick. */
void sprout_observe(struct sprout_belief *belief, u32 packets);

enum sprout_horizon {
	SPROUT_NEXT_TICK,
	SPROUT_AHEAD,		/* the next SPROUT_AHEAD_TICKS */
};

/* Packets that arrive within the horizon, at least, but for this probability. */
u32 sprout_forecast(const struct sprout_belief *belief, enum sprout_horizon horizon, u32 risk);

/* Mean rate in packets per second. */
u32 sprout_mean_rate(const struct sprout_belief *belief);

#endif /* _TCP_SPROUT_MODEL_H */
