/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the virtual kernel's randomness comes from.
 *
 * User-Mode Linux asks its host for random bytes. With CCBENCH_SEED in the
 * host's environment they are a function of that number instead, so that the
 * same seed makes the same draws: the output of splitmix64 (Steele, Lea and
 * Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), which
 * passes for random whatever the seed is. The kernel hashes it before use.
 *
 * This is part of the userspace side of User-Mode Linux: it runs in the host's
 * process and uses the host's C library.
 */
#ifndef _CCBENCH_ENTROPY_H
#define _CCBENCH_ENTROPY_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <os.h>

static uint64_t ccbench_splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Like getrandom(2). */
static ssize_t ccbench_getrandom(void *buf, size_t len, unsigned int flags)
{
	static enum { NOT_ASKED_YET, FROM_HOST, FROM_SEED } source;
	static uint64_t state;
	unsigned char *next = buf;
	size_t left = len;

	if (source == NOT_ASKED_YET) {
		const char *seed = getenv("CCBENCH_SEED");

		source = FROM_HOST;
		if (seed) {
			char *end;

			source = FROM_SEED;
			state = strtoull(seed, &end, 10);
			if (end == seed || *end) {
				os_warn("CCBENCH_SEED is not a number\n");
				exit(1);
			}
		}
	}
	if (source == FROM_HOST)
		return getrandom(buf, len, flags);

	while (left > 0) {
		uint64_t word = ccbench_splitmix64(&state);
		size_t bytes = left < sizeof(word) ? left : sizeof(word);

		memcpy(next, &word, bytes);
		next += bytes;
		left -= bytes;
	}
	return len;
}

#endif /* _CCBENCH_ENTROPY_H */
