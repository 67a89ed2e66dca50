// SPDX-License-Identifier: GPL-2.0
/*
 * Weights of two queues by the number of their flows, which is RCP's way to share a link with
 * other flows (Tai, Zhu and Dukkipati, "Making Large Scale Deployment of RCP Practical for Real
 * Networks", INFOCOM 2008).
 *
 * The number of flows is that of SRED (Ott, Lakshman and Wong, "SRED: Stabilized RED", INFOCOM
 * 1999). Each packet is compared with a random one of a list of earlier packets, the zombies. If
 * both are of the same flow, it is a hit. Otherwise the packet replaces the zombie in one case of
 * four. N flows with equal rates have hits in 1/N of all cases.
 */
#include <linux/math64.h>
#include <linux/minmax.h>

#include "sch_abc.h"

/* A miss replaces the zombie in one case of 2^ZOMBIE_REPLACE_SHIFT. */
#define ZOMBIE_REPLACE_SHIFT	2
/* The moving average of hits is as long as the memory of the list, some 4000 packets. */
#define ZOMBIE_AVERAGE_SHIFT	12

/* A linear congruential generator, whose upper bits are used. */
static u32 next_random(struct abc_zombies *zombies)
{
	zombies->random = zombies->random * 1664525 + 1013904223;
	return zombies->random;
}

void abc_zombies_count(struct abc_zombies *zombies, u32 hash)
{
	u32 *zombie;
	bool hit;

	if (zombies->count < ABC_ZOMBIES) {
		/* The list is not full: its hits would be those of few packets. */
		zombies->hashes[zombies->count++] = hash;
		return;
	}
	zombie = &zombies->hashes[(u64)next_random(zombies) * ABC_ZOMBIES >> 32];
	hit = *zombie == hash;
	if (!hit && next_random(zombies) >> (32 - ZOMBIE_REPLACE_SHIFT) == 0)
		*zombie = hash;
	zombies->hits -= zombies->hits >> ZOMBIE_AVERAGE_SHIFT;
	zombies->hits += (u64)hit << (32 - ZOMBIE_AVERAGE_SHIFT);
}

/* Returns the number of flows, in units of 2^-16; 1 until it is known. */
static u64 flows_of(const struct abc_zombies *zombies)
{
	return zombies->hits ? div64_u64(1ULL << 48, zombies->hits) : ABC_ONE;
}

u32 abc_zombies_weight(const struct abc_zombies zombies[2])
{
	const u64 first = flows_of(&zombies[0]);

	return clamp_t(u64, div64_u64(first << ABC_SHIFT, first + flows_of(&zombies[1])),
		       ABC_LEAST_WEIGHT, ABC_ONE - ABC_LEAST_WEIGHT);
}
