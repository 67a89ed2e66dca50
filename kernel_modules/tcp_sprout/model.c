// SPDX-License-Identifier: GPL-2.0
/*
 * Packets leave a link as a Poisson process whose rate is a Brownian motion, with a standard
 * deviation of 200 packets per second after one second. A link of rate 0, in an outage, remains
 * in it for a second on average.
 *
 * Forecasts of the number of packets are computed for each rate of the present when the module
 * is loaded: that of a belief is their mean, weighted by probability.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "model.h"

#define SPREAD		36U	/* five standard deviations of a tick, in rates */
#define TOP		(SPROUT_RATES - 1)
#define ARRIVALS	(SPROUT_MAX_ARRIVALS + 1)
#define TOTALS		(SPROUT_AHEAD_TICKS * SPROUT_MAX_ARRIVALS + 1)
#define FRACTION_BITS	32
#define PMF_BITS	62
/* Mean packets in a tick at the highest rate. */
#define MAX_MEAN	(SPROUT_MAX_RATE * SPROUT_TICK_US / USEC_PER_SEC)

/*
 * Probability that the rate changes by 0, 1, ... steps in a tick: of a normal distribution with
 * a standard deviation of 200 sqrt(0.02) packets per second, 7.21 steps, in units of 2^-32.
 */
static const u32 moves[SPREAD + 1] = {
	237376109, 235109071, 228437040, 217735088, 203589360, 186743927, 168036122, 148328145,
	128442641, 109108763, 90923213, 74328378, 59607275, 46893063, 36189506, 27398161, 20348148,
	14824943, 10595608, 7428881, 5109585, 3447565, 2281939, 1481700, 943802, 589748, 361507,
	217386, 128236, 74209, 42127, 23460, 12817, 6869, 3611, 1862, 942,
};

/* 1 - exp(-0.02): the probability that an outage ends in a tick. */
#define OUTAGE_ENDS	85046051U
/* exp(-20 / 255), by which the probability of no arrival changes from one rate to the next. */
#define NO_ARRIVAL	4263805827878654234ULL

struct tables {
	u32	moves_beyond[SPREAD + 2];	/* sums of moves from here on */
	u32	after_outage[SPREAD + 1];
	u32	arrivals[SPROUT_RATES][ARRIVALS];
	u32	at_most[2][SPROUT_RATES][TOTALS];	/* packets within the horizon */
};

static struct tables *tables;

static u32 rounded(u64 value, unsigned int bits)
{
	return min_t(u64, (value + (1ULL << (bits - 1))) >> bits, U32_MAX);
}

void sprout_know_nothing(struct sprout_belief *belief)
{
	u32 i;

	for (i = 0; i < SPROUT_RATES; i++)
		belief->of[i] = SPROUT_ONE / SPROUT_RATES;
}

void sprout_evolve(const struct sprout_belief *belief, struct sprout_belief *next)
{
	u64 lowest = (u64)belief->of[0] * (U32_MAX - OUTAGE_ENDS);
	u64 highest = 0, sum;
	u32 i, j;

	for (j = 1; j < TOP; j++) {
		sum = j <= SPREAD ? (u64)belief->of[0] * tables->after_outage[j] : 0;
		for (i = j > SPREAD ? j - SPREAD : 1; i <= min(j + SPREAD, TOP); i++)
			sum += (u64)belief->of[i] * moves[i > j ? i - j : j - i];
		next->of[j] = rounded(sum, FRACTION_BITS);
	}
	/* Rates beyond the ends are those of the ends. */
	for (i = 1; i <= SPREAD; i++) {
		lowest += (u64)belief->of[i] * tables->moves_beyond[i];
		highest += (u64)belief->of[TOP - i] * tables->moves_beyond[i];
	}
	highest += (u64)belief->of[TOP] * tables->moves_beyond[0];
	next->of[0] = rounded(lowest, FRACTION_BITS);
	next->of[TOP] = rounded(highest, FRACTION_BITS);
}

void sprout_observe(struct sprout_belief *belief, u32 packets)
{
	u64 sum = 0;
	int shift;
	u32 i;

	packets = min(packets, SPROUT_MAX_ARRIVALS);
	for (i = 0; i < SPROUT_RATES; i++)
		sum += (u64)belief->of[i] * tables->arrivals[i][packets];
	if (!sum)
		return;
	shift = max(fls64(sum) - 32, 0);
	sum >>= shift;
	for (i = 0; i < SPROUT_RATES; i++)
		belief->of[i] = div64_u64(((u64)belief->of[i] * tables->arrivals[i][packets] >>
					   shift) * SPROUT_ONE, sum);
}

/* Whether this many packets or fewer have at least this probability. */
static bool is_enough(const struct sprout_belief *belief, enum sprout_horizon horizon,
		      u32 packets, u64 probability)
{
	u64 sum = 0;
	u32 i;

	for (i = 0; i < SPROUT_RATES; i++)
		sum += (u64)belief->of[i] * tables->at_most[horizon][i][packets];
	return sum >= probability;
}

u32 sprout_forecast(const struct sprout_belief *belief, enum sprout_horizon horizon, u32 risk)
{
	u32 low = 0, high = TOTALS - 1, middle, i;
	u64 total = 0, probability;

	for (i = 0; i < SPROUT_RATES; i++)
		total += belief->of[i];
	probability = total * risk << (FRACTION_BITS - 30);	/* 30 bits of each of the two */
	while (low < high) {
		middle = (low + high) / 2;
		if (is_enough(belief, horizon, middle, probability))
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

u32 sprout_mean_rate(const struct sprout_belief *belief)
{
	u64 sum = 0, total = 0;
	u32 i;

	for (i = 0; i < SPROUT_RATES; i++) {
		sum += (u64)belief->of[i] * i;
		total += belief->of[i];
	}
	return div64_u64(sum * SPROUT_MAX_RATE, max(total, 1ULL) * TOP);
}

static void __init tabulate_moves(void)
{
	u32 i;

	for (i = SPREAD + 1; i-- > 0; )
		tables->moves_beyond[i] = tables->moves_beyond[i + 1] + moves[i];
	for (i = 1; i <= SPREAD; i++)
		tables->after_outage[i] = div_u64((u64)moves[i] * OUTAGE_ENDS,
						  tables->moves_beyond[1]);
}

/* The Poisson distribution of each rate. */
static void __init tabulate_arrivals(void)
{
	u64 none = 1ULL << PMF_BITS, pmf;
	u32 i, packets;

	for (i = 0; i < SPROUT_RATES; i++) {
		pmf = none;
		for (packets = 0; packets < ARRIVALS; packets++) {
			if (packets)
				pmf = mul_u64_u64_div_u64(pmf, MAX_MEAN * i, TOP * packets);
			tables->arrivals[i][packets] = rounded(pmf, PMF_BITS - FRACTION_BITS);
		}
		none = mul_u64_u64_shr(none, NO_ARRIVAL, PMF_BITS);
	}
}

/* Adds the arrivals of a tick to the distribution of the packets before it. */
static void __init add_tick(const struct sprout_belief *belief, const u32 *before, u32 *after)
{
	u64 arrivals[ARRIVALS] = { };
	u32 i, k, packets;

	for (i = 0; i < SPROUT_RATES; i++)
		if (belief->of[i])
			for (packets = 0; packets < ARRIVALS; packets++)
				arrivals[packets] += (u64)belief->of[i] *
						     tables->arrivals[i][packets];
	for (packets = 0; packets < TOTALS; packets++) {
		u64 sum = 0;

		for (k = 0; k < ARRIVALS && k <= packets; k++)
			sum += (arrivals[k] >> 30) * before[packets - k] >> 1;
		after[packets] = rounded(sum, FRACTION_BITS - 1);
	}
}

static void __init tabulate_sums(u32 *at_most, const u32 *pmf)
{
	u32 packets;
	u64 sum = 0;

	for (packets = 0; packets < TOTALS; packets++) {
		sum += pmf[packets];
		at_most[packets] = min_t(u64, sum, U32_MAX);
	}
}

static void __init tabulate_forecasts(struct sprout_belief *beliefs, u32 (*sums)[TOTALS])
{
	u32 i, tick;

	for (i = 0; i < SPROUT_RATES; i++) {
		memset(beliefs, 0, sizeof(*beliefs));
		beliefs[0].of[i] = SPROUT_ONE;
		memset(sums[0], 0, sizeof(sums[0]));
		sums[0][0] = U32_MAX;
		for (tick = 0; tick < SPROUT_AHEAD_TICKS; tick++) {
			add_tick(&beliefs[tick % 2], sums[tick % 2], sums[(tick + 1) % 2]);
			sprout_evolve(&beliefs[tick % 2], &beliefs[(tick + 1) % 2]);
			if (!tick)
				tabulate_sums(tables->at_most[SPROUT_NEXT_TICK][i], sums[1]);
		}
		tabulate_sums(tables->at_most[SPROUT_AHEAD][i], sums[SPROUT_AHEAD_TICKS % 2]);
	}
}

int __init sprout_model_init(void)
{
	struct sprout_belief *beliefs = kcalloc(2, sizeof(*beliefs), GFP_KERNEL);
	u32 (*sums)[TOTALS] = kcalloc(2, sizeof(*sums), GFP_KERNEL);
	int error = -ENOMEM;

	tables = kvzalloc(sizeof(*tables), GFP_KERNEL);
	if (beliefs && sums && tables) {
		tabulate_moves();
		tabulate_arrivals();
		tabulate_forecasts(beliefs, sums);
		error = 0;
	} else {
		kvfree(tables);
	}
	kfree(sums);
	kfree(beliefs);
	return error;
}

void sprout_model_exit(void)
{
	kvfree(tables);
}
