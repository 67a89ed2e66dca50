// SPDX-License-Identifier: GPL-2.0
/*
 * An init that tries to load RAPID's module with the parameters of each line of the
 * file /parameters. When one has been taken, it sends over the loopback device, and
 * says what user programs are told:
 *
 *	PARAMETERS refused
 *	PARAMETERS BYTES BYTES_PER_SECOND STREAM_PACKETS ESTIMATES
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
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef TCP_CC_INFO
#define TCP_CC_INFO 26
#endif

#define DATA_BYTES 2000000

static char data[DATA_BYTES];

static void set_up_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int any = socket(AF_INET, SOCK_DGRAM, 0);

	ioctl(any, SIOCSIFFLAGS, &request);
	close(any);
}

static int connection(int *receiver)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int sender = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t length = sizeof(address);
	int buffer = 2 * DATA_BYTES;

	setsockopt(sender, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof(buffer));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	bind(listener, (struct sockaddr *)&address, sizeof(address));
	getsockname(listener, (struct sockaddr *)&address, &length);
	listen(listener, 1);
	setsockopt(sender, IPPROTO_TCP, TCP_CONGESTION, "rapid", 5);
	connect(sender, (struct sockaddr *)&address, sizeof(address));
	*receiver = accept(listener, NULL, NULL);
	return sender;
}

static void send_and_ask(void)
{
	union tcp_cc_info info;
	socklen_t length = sizeof(info);
	unsigned long long rate;
	int receiver;
	int sender = connection(&receiver);

	write(sender, data, sizeof(data));
	recv(receiver, data, sizeof(data), MSG_WAITALL);
	usleep(100000);	/* until the ACKs are there */

	memset(&info, 0, sizeof(info));
	getsockopt(sender, IPPROTO_TCP, TCP_CC_INFO, &info, &length);
	rate = (unsigned long long)info.bbr.bbr_bw_hi << 32 | info.bbr.bbr_bw_lo;
	printf("%u %llu %u %u\n", length, rate, info.bbr.bbr_pacing_gain, info.bbr.bbr_cwnd_gain);
}

int main(void)
{
	char line[256];
	FILE *file = fopen("/parameters", "r");

	set_up_loopback();
	while (file && fgets(line, sizeof(line), file)) {
		int module = open("/tcp_rapid.ko", O_RDONLY);

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
