// SPDX-License-Identifier: GPL-2.0
/*
 * An init that loads the modules of ABC and takes the steps of the file /steps over
 * the loopback device, whose packets have the size of Ethernet's. It prints what it
 * is told, and powers off:
 *
 *	netlink HEX		an rtnetlink request: "netlink ERROR", or "answer HEX"
 *	file PATH		its lines, each after "file"
 *	send FAMILY SENDER RECEIVER
 *				half a megabyte from one congestion control to another,
 *				over IPv4 or IPv6 (4 or 6):
 *				"sent PORT SEGMENTS DATA_SEGMENTS RETRANSMITS ACKS",
 *				"info HEX" (TCP_CC_INFO of the sender) and a
 *				"diag HEX" (inet_diag) for each socket that is open,
 *				or "no IPv6"
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ESTABLISHED	1
#define CHUNK		14480	/* ten packets */
#define CHUNKS		40
#define GAP_US		10000

static char buffer[65536];

static void print_hex(const char *key, const void *data, size_t length)
{
	const unsigned char *bytes = data;

	printf("%s ", key);
	for (size_t i = 0; i < length; i++)
		printf("%02x", bytes[i]);
	printf("\n");
}

static void load(const char *path)
{
	int module = open(path, O_RDONLY);

	printf("load %s %d\n", path, syscall(SYS_finit_module, module, "", 0) ? errno : 0);
	close(module);
}

static void set_up_loopback(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_mtu = 1500 };
	int any = socket(AF_INET, SOCK_DGRAM, 0);

	ioctl(any, SIOCSIFMTU, &request);
	request.ifr_flags = IFF_UP;
	ioctl(any, SIOCSIFFLAGS, &request);
	close(any);
}

static void step_netlink(int netlink, const char *hex)
{
	const struct nlmsghdr *header = (const struct nlmsghdr *)buffer;
	const struct nlmsgerr *error = NLMSG_DATA(header);
	size_t length = strlen(hex) / 2;

	for (size_t i = 0; i < length; i++)
		sscanf(hex + 2 * i, "%2hhx", (unsigned char *)buffer + i);
	send(netlink, buffer, length, 0);
	length = recv(netlink, buffer, sizeof(buffer), 0);
	if (header->nlmsg_type == NLMSG_ERROR)
		printf("netlink %d\n", -error->error);
	else
		print_hex("answer", buffer, header->nlmsg_len);
}

static void step_file(const char *path)
{
	FILE *file = fopen(path, "r");

	while (file && fgets(buffer, sizeof(buffer), file))
		printf("file %s", buffer);
	if (file)
		fclose(file);
}

/* Every open connection, with the record that ABC shares with Vegas. */
static void print_diag(int family)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 diag;
	} request = {
		.header = {
			.nlmsg_len = sizeof(request),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.diag = {
			.sdiag_family = family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_ext = 1 << (INET_DIAG_VEGASINFO - 1),
			.idiag_states = 1 << ESTABLISHED,
		},
	};
	int diag = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);

	send(diag, &request, sizeof(request), 0);
	for (;;) {
		int length = recv(diag, buffer, sizeof(buffer), 0);
		struct nlmsghdr *header = (struct nlmsghdr *)buffer;

		for (; NLMSG_OK(header, length); header = NLMSG_NEXT(header, length)) {
			if (header->nlmsg_type == NLMSG_DONE || header->nlmsg_type == NLMSG_ERROR) {
				close(diag);
				return;
			}
			print_hex("diag", header, header->nlmsg_len);
		}
		if (length < 0)
			return;
	}
}

static struct tcp_info info_of(int socket)
{
	struct tcp_info info = { 0 };
	socklen_t length = sizeof(info);

	getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length);
	return info;
}

/* The sockets stay open, so that all packets that are sent are the data's. */
static void step_send(int family, const char *from, const char *to)
{
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	void *address = family == AF_INET ? (void *)&v4 : (void *)&v6;
	socklen_t length = family == AF_INET ? sizeof(v4) : sizeof(v6);
	int listener = socket(family, SOCK_STREAM, 0);
	int sender = socket(family, SOCK_STREAM, 0);
	struct tcp_info sent, received;
	unsigned char info[64];
	int receiver;

	if (listener < 0) {
		printf("no IPv6\n");
		return;
	}
	v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, to, strlen(to)) ||
	    setsockopt(sender, IPPROTO_TCP, TCP_CONGESTION, from, strlen(from)) ||
	    bind(listener, address, length) || getsockname(listener, address, &length) ||
	    listen(listener, 1) || connect(sender, address, length)) {
		printf("failed %d\n", errno);
		return;
	}
	receiver = accept(listener, NULL, NULL);
	for (int i = 0; i < CHUNKS; i++) {
		write(sender, buffer, CHUNK);
		recv(receiver, buffer, CHUNK, MSG_WAITALL);
		usleep(GAP_US);
	}
	usleep(100000);	/* until the last ACK is there */

	sent = info_of(sender);
	received = info_of(receiver);
	getsockname(sender, address, &length);
	printf("sent %d %u %u %u %u\n", ntohs(family == AF_INET ? v4.sin_port : v6.sin6_port),
	       sent.tcpi_segs_out, sent.tcpi_data_segs_out, sent.tcpi_total_retrans,
	       received.tcpi_segs_out);
	length = sizeof(info);
	getsockopt(sender, IPPROTO_TCP, TCP_CC_INFO, info, &length);
	print_hex("info", info, length);
	print_diag(family);
}

int main(void)
{
	int netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	char line[4096], from[16], to[16];
	FILE *steps;
	int family;

	mount("none", "/proc", "proc", 0, NULL);
	load("/tcp_abc.ko");
	load("/tcp_abc_ns.ko");
	load("/sch_abc.ko");
	set_up_loopback();

	steps = fopen("/steps", "r");
	while (steps && fgets(line, sizeof(line), steps)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "netlink ", 8))
			step_netlink(netlink, line + 8);
		else if (!strncmp(line, "file ", 5))
			step_file(line + 5);
		else if (sscanf(line, "send %d %15s %15s", &family, from, to) == 3)
			step_send(family == 6 ? AF_INET6 : AF_INET, from, to);
	}
	fflush(stdout);
	reboot(RB_POWER_OFF);
}
