/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The source of the virtual kernel's randomness.
 *
 * User-Mode Linux requests random bytes from its host. With CCBENCH_SEED in the environment
 * of the host, they are a stream derived from that number instead, so that the same seed
 * gives the same draws. The kernel hashes them before use.
 *
 * This is part of the userspace side of User-Mode Linux: it runs in the process of the host
 * and uses the host's C library.
 */
#ifndef _CCBENCH_ENTROPY_H
#define _CCBENCH_ENTROPY_H

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <os.h>

#include "ccbench_random_stream.h"

/* Like getrandom(2). */
static ssize_t ccbench_getrandom(void *buf, size_t len, unsigned int flags)
{
	static enum { NOT_ASKED_YET, FROM_HOST, FROM_SEED } source;
	static struct random_stream stream;
	unsigned char *next = buf;
	size_t left = len;

	if (source == NOT_ASKED_YET) {
		const char *seed = getenv("CCBENCH_SEED");

		source = FROM_HOST;
		if (seed) {
			unsigned long long number;
			char *end;

			source = FROM_SEED;
			number = strtoull(seed, &end, 10);
			stream = random_stream(number, RANDOM_ENTROPY, 0, 0);
			if (end == seed || *end) {
				os_warn("CCBENCH_SEED is not a number\n");
				exit(1);
			}
		}
	}
	if (source == FROM_HOST)
		return getrandom(buf, len, flags);

	while (left > 0) {
		unsigned long long word = random_u64(&stream);
		size_t bytes = left < sizeof(word) ? left : sizeof(word);

		memcpy(next, &word, bytes);
		next += bytes;
		left -= bytes;
	}
	return len;
}

#endif /* _CCBENCH_ENTROPY_H */
