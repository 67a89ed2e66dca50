// SPDX-License-Identifier: GPL-2.0
/*
 * An init that asks the kernel it runs in what it has, and powers off:
 *
 *	tick NANOSECONDS	how far apart the timer's ticks are
 *	ccas NAME...		the congestion control algorithms
 *	qdisc NAME		for each name in the file /qdiscs that it knows
 */
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Whether a qdisc of this name can be asked for; its options may be wanting. */
static int is_known(int netlink, const char *name)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg tc;
		struct rtattr kind;
		char name[16];
	} request = {
		.header = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = RTM_NEWQDISC,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE,
		},
		.tc = { .tcm_ifindex = 1, .tcm_parent = TC_H_ROOT },
		.kind = { .rta_len = RTA_LENGTH(sizeof(request.name)), .rta_type = TCA_KIND },
	};
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[1024];
	} answer = { .error.error = -EIO };

	strncpy(request.name, name, sizeof(request.name) - 1);
	send(netlink, &request, sizeof(request), 0);
	recv(netlink, &answer, sizeof(answer), 0);
	return answer.error.error != -ENOENT;
}

int main(void)
{
	int netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	struct timespec tick;
	char line[4096];
	FILE *file;

	mount("none", "/proc", "proc", 0, NULL);

	clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
	printf("tick %ld\n", tick.tv_nsec);

	file = fopen("/proc/sys/net/ipv4/tcp_available_congestion_control", "r");
	if (file && fgets(line, sizeof(line), file))
		printf("ccas %s", line);

	file = fopen("/qdiscs", "r");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (is_known(netlink, line))
			printf("qdisc %s\n", line);
	}

	fflush(stdout);
	reboot(RB_POWER_OFF);
}
