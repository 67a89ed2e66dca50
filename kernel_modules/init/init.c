// SPDX-License-Identifier: GPL-2.0
/*
 * The init of the virtual kernel, and usually its only program.
 *
 * It executes a plan, one step per line, and powers the guest off. The host writes the plan,
 * which contains all decisions about the scenario.
 *
 *	netns			enter a new network namespace
 *	first-netns		return to the initial one
 *	module FILE [OPTIONS]	load a kernel module
 *	write PATH TEXT		write a text to a file, such as a sysctl
 *	feed PATH FILE		write the whole of FILE to PATH, in one call
 *	netlink NAME HEX	send an rtnetlink request and wait for its answer; an answer
 *				other than a plain ACK is printed on the console
 *	wait PATH		read from PATH, once
 *	hostfs DIRECTORY PATH	mount PATH of the host on DIRECTORY, read-only
 *	bind DIRECTORY PATH	bind-mount PATH of the guest on DIRECTORY
 *	memory DIRECTORY	mount an empty file system in memory on DIRECTORY
 *	sleep NS		sleep
 *	spawn FROM FOR COMMAND	start a program of the host, mounted on /host, in FROM ns,
 *				and end it after FOR ns; 0: at the end of the guest
 *	alive			fail if such a program has terminated by itself
 *
 * The first failed step is printed on the console and ends the plan.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLAN "/run/plan"
#define HOST_ROOT "/host"
#define MAX_ARGUMENTS 32
#define MAX_PROGRAMS 128
#define NS_PER_S 1000000000ULL

/* Every step returns 0, or -1 with errno set. */

static int step_netns(void)
{
	return unshare(CLONE_NEWNET);
}

static int first_netns;

static int step_first_netns(void)
{
	return setns(first_netns, CLONE_NEWNET);
}

static int step_module(const char *file, const char *options)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	int result;

	if (fd < 0)
		return -1;
	result = syscall(SYS_finit_module, fd, options, 0);
	close(fd);
	return result;
}

static int write_once(const char *path, const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t written;

	if (fd < 0)
		return -1;
	written = write(fd, data, bytes);
	close(fd);
	if (written < 0)
		return -1;
	if ((size_t)written != bytes) {
		errno = EIO;
		return -1;
	}
	return 0;
}

static int step_feed(const char *path, const char *file)
{
	struct stat status;
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	void *data;
	int result;

	if (fd < 0 || fstat(fd, &status))
		return -1;
	data = mmap(NULL, status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return -1;
	result = write_once(path, data, status.st_size);
	munmap(data, status.st_size);
	return result;
}

static int step_wait(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -1;
	got = read(fd, &byte, 1);
	close(fd);
	return got < 0 ? -1 : 0;
}

static int hex_digit(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void report_answer(const char *name, const char *bytes, size_t count)
{
	printf("ccbench: answer: %s ", name);
	for (size_t i = 0; i < count; i++)
		printf("%02hhx", bytes[i]);
	printf("\n");
}

static int step_netlink(const char *name, const char *hex)
{
	union {
		struct nlmsghdr header;
		char bytes[8192];
	} message;
	struct nlmsgerr *answer = NLMSG_DATA(&message.header);
	size_t bytes = strlen(hex) / 2;
	ssize_t got;
	int fd;

	if (bytes > sizeof(message)) {
		errno = EMSGSIZE;
		return -1;
	}
	for (size_t i = 0; i < bytes; i++)
		message.bytes[i] = hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]);

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -1;
	got = send(fd, &message, bytes, 0);
	if (got >= 0)
		got = recv(fd, &message, sizeof(message), 0);
	close(fd);
	if (got < 0)
		return -1;
	if (message.header.nlmsg_type != NLMSG_ERROR) {
		report_answer(name, message.bytes, got);
		return 0;
	}
	errno = -answer->error;
	return answer->error ? -1 : 0;
}

/* ---- programs of the host --------------------------------------------- */

static struct program {
	pid_t pid;
	char name[64];
} programs[MAX_PROGRAMS];
static int program_count;

static int step_sleep(const char *ns)
{
	unsigned long long left = strtoull(ns, NULL, 10);
	struct timespec time = { left / NS_PER_S, left % NS_PER_S };

	return nanosleep(&time, NULL);
}

/* The default action of the signal ends the program. */
static int end_after(const char *ns)
{
	unsigned long long left = strtoull(ns, NULL, 10);
	struct itimerval timer = {
		.it_value = { left / NS_PER_S, left % NS_PER_S / 1000 },
	};

	return setitimer(ITIMER_REAL, &timer, NULL);
}

/*
 * Threads of a program are one process of the host, and the kernel of the guest saves the SSE
 * registers of each, but no wider ones (edits.py). The C library and OpenSSL would select these
 * by the features of the processor, so they are disabled.
 */
static char *environment[] = {
	"GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,"
	"-AVX_Fast_Unaligned_Load,-FMA,-FMA4,-XSAVE,-XSAVEC",
	"OPENSSL_ia32cap=~0x1000000000000000:0",
	NULL,
};

static void run_program(const char *from_ns, const char *for_ns, char *command)
{
	char *arguments[MAX_ARGUMENTS + 1] = { NULL };
	char *word;
	int count = 0;

	while (count < MAX_ARGUMENTS && (word = strsep(&command, " ")))
		arguments[count++] = word;
	/* Timer slack would delay the start. */
	if (command)
		errno = E2BIG;
	else if (!chroot(HOST_ROOT) && !chdir("/") && !prctl(PR_SET_TIMERSLACK, 1) &&
		 !step_sleep(from_ns) && !end_after(for_ns))
		execve(arguments[0], arguments, environment);
	printf("ccbench: cannot start %s: %s\n", arguments[0], strerror(errno));
	fflush(stdout);
	_exit(EXIT_FAILURE);
}

static int step_spawn(const char *from_ns, char *rest)
{
	struct program *program = &programs[program_count];
	const char *for_ns = strsep(&rest, " ");

	if (!rest || program_count == MAX_PROGRAMS) {
		errno = EINVAL;
		return -1;
	}
	snprintf(program->name, sizeof(program->name), "%.*s", (int)strcspn(rest, " "), rest);
	fflush(stdout);
	program->pid = fork();
	if (!program->pid)
		run_program(from_ns, for_ns, rest);
	program_count++;
	return program->pid < 0 ? -1 : 0;
}

static int step_alive(void)
{
	int status;

	for (int i = 0; i < program_count; i++) {
		if (waitpid(programs[i].pid, &status, WNOHANG) <= 0 ||
		    (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM))
			continue;
		printf("ccbench: failed: %s ended too early: %s %d\n", programs[i].name,
		       WIFSIGNALED(status) ? "signal" : "exit status",
		       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		errno = ECHILD;
		return -1;
	}
	return 0;
}

static int execute_step(char *line)
{
	const char *verb = strsep(&line, " ");
	const char *argument = line ? strsep(&line, " ") : "";
	char *rest = line ? line : "";

	if (!strcmp(verb, "netns"))
		return step_netns();
	if (!strcmp(verb, "first-netns"))
		return step_first_netns();
	if (!strcmp(verb, "module"))
		return step_module(argument, rest);
	if (!strcmp(verb, "write"))
		return write_once(argument, rest, strlen(rest));
	if (!strcmp(verb, "feed"))
		return step_feed(argument, rest);
	if (!strcmp(verb, "netlink"))
		return step_netlink(argument, rest);
	if (!strcmp(verb, "wait"))
		return step_wait(argument);
	if (!strcmp(verb, "hostfs"))
		return mount("none", argument, "hostfs", MS_RDONLY, rest);
	if (!strcmp(verb, "bind"))
		return mount(rest, argument, NULL, MS_BIND, NULL);
	if (!strcmp(verb, "memory"))
		return mount("none", argument, "ramfs", 0, NULL);
	if (!strcmp(verb, "sleep"))
		return step_sleep(argument);
	if (!strcmp(verb, "spawn"))
		return step_spawn(argument, rest);
	if (!strcmp(verb, "alive"))
		return step_alive();
	errno = EINVAL;
	return -1;
}

static void execute_plan(void)
{
	static char line[32768];
	char shown[120];
	FILE *plan = fopen(PLAN, "re");

	if (!plan) {
		printf("ccbench: failed: cannot open the plan: %s\n", strerror(errno));
		return;
	}
	first_netns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	while (fgets(line, sizeof(line), plan)) {
		line[strcspn(line, "\n")] = '\0';
		snprintf(shown, sizeof(shown), "%.100s", line);
		if (execute_step(line)) {
			printf("ccbench: failed: %s: %s\n", shown, strerror(errno));
			return;
		}
	}
	printf("ccbench: finished\n");
}

int main(void)
{
	const char *run_directory = getenv("CCBENCH_RUN");

	if (mount("none", "/proc", "proc", 0, NULL) ||
	    mount("none", "/run", "hostfs", 0, run_directory))
		printf("ccbench: failed: cannot mount %s: %s\n", run_directory,
		       strerror(errno));
	else
		execute_plan();
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return EXIT_FAILURE;
}
