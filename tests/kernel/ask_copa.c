// SPDX-License-Identifier: GPL-2.0
/*
 * An init that tries to load Copa's module with the parameters of each line of the
 * file /parameters. When one has been taken, it sends a little over the loopback
 * device, and says what user programs are told:
 *
 *	PARAMETERS refused
 *	PARAMETERS BYTES DEFAULT_MODE INVERSE_DELTA STANDING_RTT_US MIN_RTT_US
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef TCP_CC_INFO
#define TCP_CC_INFO 26
#endif

static void set_up_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int any = socket(AF_INET, SOCK_DGRAM, 0);

	ioctl(any, SIOCSIFFLAGS, &request);
	close(any);
}

static void send_and_ask(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int sender = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof(address);
	union tcp_cc_info info;
	char data[10000] = "";
	int receiver;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(listener, (struct sockaddr *)&address, sizeof(address));
	getsockname(listener, (struct sockaddr *)&address, &length);
	listen(listener, 1);
	setsockopt(sender, IPPROTO_TCP, TCP_CONGESTION, "copa", 4);
	connect(sender, (struct sockaddr *)&address, sizeof(address));
	receiver = accept(listener, NULL, NULL);
	write(sender, data, sizeof(data));
	recv(receiver, data, sizeof(data), MSG_WAITALL);
	usleep(100000);	/* until the ACK is there */

	length = sizeof(info);
	memset(&info, 0, sizeof(info));
	getsockopt(sender, IPPROTO_TCP, TCP_CC_INFO, &info, &length);
	printf("%u %u %u %u %u\n", length, info.vegas.tcpv_enabled, info.vegas.tcpv_rttcnt,
	       info.vegas.tcpv_rtt, info.vegas.tcpv_minrtt);
}

int main(void)
{
	char line[256];
	FILE *file = fopen("/parameters", "r");

	set_up_loopback();
	while (file && fgets(line, sizeof(line), file)) {
		int module = open("/tcp_copa.ko", O_RDONLY);

		line[strcspn(line, "\n")] = '\0';
		printf("%s ", line);
		if (syscall(SYS_finit_module, module, line, 0))
			printf("refused\n");
		else
			send_and_ask();
		close(module);
	}
	fflush(stdout);
	reboot(RB_POWER_OFF);
}
