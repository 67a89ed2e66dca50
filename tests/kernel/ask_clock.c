// SPDX-License-Identifier: GPL-2.0
/*
 * An init that asks the kernel it runs in for the time, and powers off:
 *
 *	sleep CLOCK NS NS	for each clock and time: how long a sleep of it took
 *	busy NS			how long a million steps of computing took
 *	stamp MS MS		the time, and what TCP would stamp a segment with
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000LL

static long long now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return time.tv_sec * NS_PER_S + time.tv_nsec;
}

static void sleep_ns(long long ns)
{
	struct timespec time = { ns / NS_PER_S, ns % NS_PER_S };

	nanosleep(&time, NULL);
}

static unsigned int stamp(int fd)
{
	unsigned int value = 0;
	socklen_t length = sizeof(value);

	getsockopt(fd, IPPROTO_TCP, TCP_TIMESTAMP, &value, &length);
	return value;
}

int main(void)
{
	static const clockid_t clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME };
	static const long long times_ns[] = { 1000, 12345678, 999999999, 3600 * NS_PER_S };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	volatile int sum = 0;
	long long begin_ns;

	/* Without slack, by which a sleep may be longer than was asked for. */
	prctl(PR_SET_TIMERSLACK, 1);
	/* At first, timers are as coarse as ticks. */
	sleep_ns(10000000);
	for (int i = 0; i < 3; i++)
		for (int j = 0; j < 4; j++) {
			begin_ns = now_ns(clocks[i]);
			sleep_ns(times_ns[j]);
			printf("sleep %d %lld %lld\n", clocks[i], times_ns[j],
			       now_ns(clocks[i]) - begin_ns);
		}
	begin_ns = now_ns(CLOCK_MONOTONIC);
	for (int i = 0; i < 1000000; i++)
		sum += i;
	printf("busy %lld\n", now_ns(CLOCK_MONOTONIC) - begin_ns);
	for (int i = 0; i < 12; i++) {
		sleep_ns(i * 123000LL);
		begin_ns = now_ns(CLOCK_MONOTONIC);
		printf("stamp %lld %u\n", begin_ns / 1000000, stamp(fd));
	}
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
