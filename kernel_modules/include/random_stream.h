/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Random streams, one per purpose, derived from the seed and a label.
 *
 * A label consists of a purpose and the numbers of a bottleneck and a flow. Seed and label
 * pass through a mixing function in turn, so that labels and seeds that differ in a single
 * bit start at unrelated states: consecutive seeds are independent, and an additional flow
 * or bottleneck changes no other draws. ccbench/base/random_streams.py has the same
 * streams in Python.
 *
 * Mixing function and generator are those of splitmix64 (Steele, Lea and Flood,
 * "Fast splittable pseudorandom number generators", OOPSLA 2014).
 *
 * Kernel and user space include this file, hence the plain types.
 */
#ifndef _CCBENCH_RANDOM_STREAM_H
#define _CCBENCH_RANDOM_STREAM_H

enum random_purpose {
	RANDOM_ENTROPY = 1,	/* random numbers of the guest's kernel */
	RANDOM_LOSS,
	RANDOM_FORWARD_JITTER,
	RANDOM_REVERSE_JITTER,
	RANDOM_SENDER_JITTER,
	RANDOM_BACKGROUND,
	RANDOM_POISSON,		/* gaps of a Poisson flow */
	RANDOM_WIFI,		/* overhead of batches */
	RANDOM_BACKGROUND_LOSS,
	RANDOM_BURST_LOSS,
	RANDOM_DUPLICATES,
	RANDOM_REORDERING,
	RANDOM_WIFI_JITTER,	/* after the bottlenecks */
};

struct random_stream {
	unsigned long long state;
};

static inline unsigned long long random_mix(unsigned long long x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

static inline unsigned long long random_u64(struct random_stream *stream)
{
	stream->state += 0x9e3779b97f4a7c15ULL;
	return random_mix(stream->state);
}

static inline unsigned int random_u32(struct random_stream *stream)
{
	return random_u64(stream) >> 32;
}

/* Returns the stream of a purpose and two numbers, usually of a bottleneck and a flow. */
static inline struct random_stream random_stream(unsigned long long seed,
						 enum random_purpose purpose,
						 unsigned int major, unsigned int minor)
{
	struct random_stream stream = { seed };

	stream.state = random_u64(&stream) + purpose;
	stream.state = random_u64(&stream) + major;
	stream.state = random_u64(&stream) + minor;
	stream.state = random_u64(&stream);
	return stream;
}

/*
 * Draws from the exponential distribution with mean 1, in units of 2^-32, by von Neumann's
 * method, which only uses integers and comparisons: the length of a run of falling uniform
 * draws is odd with probability e^-x, where x is the first draw.
 */
static inline unsigned long long random_exponential(struct random_stream *stream)
{
	unsigned long long whole = 0;

	for (;; whole += 1ULL << 32) {
		unsigned int first = random_u32(stream);
		unsigned int last = first;
		int odd = 1;

		for (;;) {
			unsigned int next = random_u32(stream);

			if (next >= last)
				break;
			last = next;
			odd = !odd;
		}
		if (odd)
			return whole + first;
	}
}

#endif /* _CCBENCH_RANDOM_STREAM_H */
