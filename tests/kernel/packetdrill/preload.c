// SPDX-License-Identifier: GPL-2.0
/*
 * Functions of the C library for packetdrill in the guest, loaded by LD_PRELOAD.
 *
 * packetdrill polls the clock for the last microseconds before an event, and counts ticks before a
 * script starts. In virtual time, computing takes no time, so both would wait forever. Here, each
 * look at the clock takes a microsecond, and each look at the ticks lasts until the next one.
 */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000L
#define NS_PER_TICK 1000000L
#define LOOK_NS 1000L

int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	struct timespec look = { .tv_nsec = LOOK_NS }, now;

	(void)zone;
	nanosleep(&look, NULL);
	clock_gettime(CLOCK_REALTIME, &now);
	time->tv_sec = now.tv_sec;
	time->tv_usec = now.tv_nsec / 1000;
	return 0;
}

clock_t times(struct tms *buffer)
{
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	next.tv_nsec += NS_PER_TICK - next.tv_nsec % NS_PER_TICK;
	if (next.tv_nsec == NS_PER_S) {
		next.tv_nsec = 0;
		next.tv_sec++;
	}
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	return syscall(SYS_times, buffer);
}

/*
 * A kernel older than packetdrill knows fewer fields of TCP_INFO, which are at the end: they are
 * 0, instead of an error for all scripts that read any field.
 */
int getsockopt(int fd, int level, int name, void *restrict value, socklen_t *restrict length)
{
	socklen_t asked = length ? *length : 0;
	int result = syscall(SYS_getsockopt, fd, level, name, value, length);

	if (!result && level == IPPROTO_TCP && name == TCP_INFO && *length < asked) {
		memset((char *)value + *length, 0, asked - *length);
		*length = asked;
	}
	return result;
}
