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
 *	proc DIRECTORY		mount the guest's processes on DIRECTORY
 *	sysfs DIRECTORY		mount the guest's devices on DIRECTORY
 *	memory DIRECTORY	mount an empty file system in memory on DIRECTORY, if it exists
 *	sleep NS		sleep
 *	program NAME GROUP END [FROM FOR]
 *				start a program of the host, mounted on /host, as described below;
 *				END: it "stays" until it is stopped, or "may-end" by itself
 *	go			programs with FROM start in FROM ns, and are stopped after FOR ns;
 *				0: at the end
 *	stop			stop all programs
 *	keep NAME PATTERN	copy matching files of a program's scratch folder to the host
 *
 * The first failed step is printed on the console and ends the plan.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLAN "/run/plan"
#define HOST_ROOT "/host"
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

/*
 * The folder /run/programs/NAME of a program contains its words and its environment, each word
 * followed by a NUL, and the files that it finds in its scratch folder, /tmp/NAME, where it
 * starts. Its output, its end, and the files that are kept are written to the same folder.
 *
 * Another process supervises each program. A program that cannot be started, or ends although
 * it should not, ends the guest.
 */
#define PROGRAMS "/run/programs"
#define SCRATCH "/host/tmp"
#define PATH_BYTES 512
#define MAX_WORDS 1024
#define MAX_PROGRAMS 4096
#define GRACE_NS NS_PER_S
#define FAILED_TO_START 127

/* Capabilities of programs, which are root otherwise: they cannot mount, or load modules. */
static const int capabilities[] = {
	CAP_CHOWN, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER, CAP_FSETID, CAP_IPC_LOCK,
	CAP_KILL, CAP_NET_ADMIN, CAP_NET_BIND_SERVICE, CAP_NET_BROADCAST, CAP_NET_RAW,
	CAP_SETGID, CAP_SETUID, CAP_SYS_NICE, CAP_SYS_RESOURCE,
};

struct program {
	const char *name;
	gid_t group;
	bool may_end;
	bool waits;		/* for the start of the experiment */
	unsigned long long from_ns;
	unsigned long long for_ns;
};

static pid_t supervisors[MAX_PROGRAMS];
static int program_count;

/* Its end of file is the start of the experiment, whose time all processes see. */
static int go_pipe[2] = { -1, -1 };
static volatile unsigned long long *go_ns;

static unsigned long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

static struct timespec of_ns(unsigned long long ns)
{
	return (struct timespec) { ns / NS_PER_S, ns % NS_PER_S };
}

static int step_sleep(const char *ns)
{
	struct timespec time = of_ns(strtoull(ns, NULL, 10));

	return nanosleep(&time, NULL);
}

/* Returns the whole of a file, followed by a NUL; NULL with errno set. */
static char *read_file(const char *path, size_t *bytes)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	ssize_t got = 0;

	if (fd < 0)
		return NULL;
	*bytes = 0;
	if (!fstat(fd, &status))
		text = malloc(status.st_size + 1);
	while (text && (got = read(fd, text + *bytes, status.st_size - *bytes)) > 0)
		*bytes += got;
	close(fd);
	if (!text || got < 0)
		return NULL;
	text[*bytes] = '\0';
	return text;
}

/* Returns the words of a program's file, a list that ends with NULL; NULL with errno set. */
static char **read_words(const char *name, const char *file)
{
	static char path[PATH_BYTES];
	char **words = calloc(MAX_WORDS + 1, sizeof(*words));
	size_t bytes, at = 0;
	char *text;
	int count = 0;

	snprintf(path, sizeof(path), PROGRAMS "/%s/%s", name, file);
	text = read_file(path, &bytes);
	if (!text || !words)
		return NULL;
	for (; at < bytes; at += strlen(text + at) + 1) {
		if (count == MAX_WORDS) {
			errno = E2BIG;
			return NULL;
		}
		words[count++] = text + at;
	}
	return words;
}

/* Copies a file with its times. */
static int copy_file(const char *from, const char *to)
{
	struct stat status;
	size_t bytes;
	char *text = read_file(from, &bytes);
	int result = -1;
	int fd;

	if (!text || stat(from, &status))
		return -1;
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, status.st_mode & 0777);
	if (fd < 0)
		return -1;
	if (write(fd, text, bytes) == (ssize_t)bytes) {
		const struct timespec times[] = { status.st_mtim, status.st_mtim };

		result = futimens(fd, times);
	}
	close(fd);
	free(text);
	return result;
}

/* The roots and the pattern of the copy of a tree, which nftw() cannot pass on. */
static struct {
	const char *from;
	const char *to;
	const char *pattern;
} tree;

static int copy_entry(const char *path, const struct stat *status, int kind, struct FTW *at)
{
	static char target[PATH_BYTES];
	const char *name = path + strlen(tree.from);

	name += *name == '/';
	if ((size_t)snprintf(target, sizeof(target), "%s/%s", tree.to, name) >= sizeof(target)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (kind == FTW_D)
		return tree.pattern ? 0 : mkdir(target, 0777) && errno != EEXIST ? -1 : 0;
	if (kind != FTW_F)
		return 0;
	if (!tree.pattern)
		return copy_file(path, target);
	if (fnmatch(tree.pattern, name, FNM_PERIOD))
		return 0;
	/* The folders that lead to it. */
	for (char *slash = target + strlen(tree.to) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		if (mkdir(target, 0777) && errno != EEXIST)
			return -1;
		*slash = '/';
	}
	return copy_file(path, target);
}

static int copy_tree(const char *from, const char *to, const char *pattern)
{
	tree.from = from;
	tree.to = to;
	tree.pattern = pattern;
	return nftw(from, copy_entry, 16, FTW_PHYS);
}

static int step_keep(const char *name, const char *pattern)
{
	static char from[PATH_BYTES], to[PATH_BYTES];

	snprintf(from, sizeof(from), SCRATCH "/%s", name);
	snprintf(to, sizeof(to), PROGRAMS "/%s/kept", name);
	if (mkdir(to, 0777) && errno != EEXIST)
		return -1;
	return copy_tree(from, to, pattern);
}

static bool is_kept(int capability)
{
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(*capabilities); i++)
		if (capabilities[i] == capability)
			return true;
	return false;
}

static int drop_capabilities(void)
{
	for (int i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!is_kept(i) && prctl(PR_CAPBSET_DROP, i, 0, 0, 0))
			return -1;
	return 0;
}

static void run_program(const struct program *program, int report)
{
	static char path[PATH_BYTES];
	char **words = read_words(program->name, "words");
	char **environment = read_words(program->name, "environment");
	sigset_t none;
	int output, input;

	sigemptyset(&none);
	snprintf(path, sizeof(path), PROGRAMS "/%s/output", program->name);
	output = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	snprintf(path, sizeof(path), "/tmp/%s", program->name);
	/* Timer slack would delay its timers. */
	if (words && environment && output >= 0 && !chroot(HOST_ROOT) && !chdir(path) &&
	    (input = open("/dev/null", O_RDONLY)) >= 0 && dup2(input, STDIN_FILENO) >= 0 &&
	    dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0 &&
	    !close(output) && !close(input) && !prctl(PR_SET_TIMERSLACK, 1) && setsid() >= 0 &&
	    !setgroups(0, NULL) && !setgid(program->group) && !drop_capabilities() &&
	    !sigprocmask(SIG_SETMASK, &none, NULL))
		execve(words[0], words, environment);
	dprintf(report, "ccbench: program: %s: cannot be started: %s\n", program->name,
		strerror(errno));
	_exit(FAILED_TO_START);
}

static void power_off(void)
{
	fflush(stdout);
	sync();
	reboot(RB_POWER_OFF);
}

/* Writes how a program has ended, and when, in ns since the start of the experiment. */
static void write_end(const struct program *program, const char *how, int number)
{
	static char path[PATH_BYTES];
	long long at_ns = *go_ns ? (long long)(now_ns() - *go_ns) : -1;
	FILE *file;

	snprintf(path, sizeof(path), PROGRAMS "/%s/end", program->name);
	file = fopen(path, "we");
	if (!file)
		return;
	fprintf(file, "%s %d %lld\n", how, number, at_ns);
	fclose(file);
}

static void ended(const struct program *program, int status)
{
	const bool killed = WIFSIGNALED(status);
	const int number = killed ? WTERMSIG(status) : WEXITSTATUS(status);

	write_end(program, killed ? "signal" : "exit", number);
	if (!killed && !number && program->may_end)
		_exit(EXIT_SUCCESS);
	printf("ccbench: program: %s: ended with %s %d\n", program->name,
	       killed ? "signal" : "exit status", number);
	power_off();
}

/* Starts a program, and waits until it ends, its time is over, or all are stopped. */
static void supervise(const struct program *program)
{
	const struct timespec *limit = NULL;
	struct timespec time;
	sigset_t awaited;
	int status;
	pid_t pid;
	char byte;

	sigemptyset(&awaited);
	sigaddset(&awaited, SIGCHLD);
	sigaddset(&awaited, SIGTERM);
	sigprocmask(SIG_BLOCK, &awaited, NULL);
	close(go_pipe[1]);
	prctl(PR_SET_TIMERSLACK, 1);
	if (program->waits) {
		read(go_pipe[0], &byte, 1);
		time = of_ns(program->from_ns);
		nanosleep(&time, NULL);
		time = of_ns(program->for_ns);
		limit = program->for_ns ? &time : NULL;
	}
	close(go_pipe[0]);
	pid = fork();
	if (!pid)
		run_program(program, STDOUT_FILENO);
	if (sigtimedwait(&awaited, NULL, limit ?: &(struct timespec) { LONG_MAX, 0 }) == SIGCHLD &&
	    waitpid(pid, &status, WNOHANG) == pid)
		ended(program, status);
	/* The program, and what it has started. */
	kill(-pid, SIGTERM);
	sigdelset(&awaited, SIGTERM);
	time = of_ns(GRACE_NS);
	sigtimedwait(&awaited, NULL, &time);
	kill(-pid, SIGKILL);
	waitpid(pid, &status, 0);
	write_end(program, "stopped", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	_exit(EXIT_SUCCESS);
}

static int prepare_go(void)
{
	if (go_ns)
		return 0;
	go_ns = mmap(NULL, sizeof(*go_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (go_ns == MAP_FAILED) {
		go_ns = NULL;
		return -1;
	}
	return pipe2(go_pipe, O_CLOEXEC);
}

static int step_program(const char *name, char *rest)
{
	static char from[PATH_BYTES], to[PATH_BYTES];
	const char *group = strsep(&rest, " ");
	const char *end = rest ? strsep(&rest, " ") : NULL;
	const char *from_ns = rest ? strsep(&rest, " ") : NULL;
	const struct program program = {
		.name = name,
		.group = strtoul(group ?: "", NULL, 10),
		.may_end = end && !strcmp(end, "may-end"),
		.waits = from_ns,
		.from_ns = strtoull(from_ns ?: "", NULL, 10),
		.for_ns = strtoull(rest ?: "", NULL, 10),
	};
	pid_t pid;

	if (!end || program_count == MAX_PROGRAMS) {
		errno = EINVAL;
		return -1;
	}
	snprintf(from, sizeof(from), PROGRAMS "/%s/files", name);
	snprintf(to, sizeof(to), SCRATCH "/%s", name);
	if (prepare_go() || mkdir(to, 0777) || (!access(from, F_OK) && copy_tree(from, to, NULL)))
		return -1;
	fflush(stdout);
	pid = fork();
	if (!pid)
		supervise(&program);
	supervisors[program_count++] = pid;
	return pid < 0 ? -1 : 0;
}

static int step_go(void)
{
	*go_ns = now_ns();
	return close(go_pipe[1]);
}

static int step_stop(void)
{
	for (int i = 0; i < program_count; i++)
		kill(supervisors[i], SIGTERM);
	for (int i = 0; i < program_count; i++)
		waitpid(supervisors[i], NULL, 0);
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
	if (!strcmp(verb, "proc") || !strcmp(verb, "sysfs"))
		return mount("none", argument, verb, 0, NULL);
	if (!strcmp(verb, "memory"))
		return mount("none", argument, "ramfs", 0, NULL) && errno != ENOENT ? -1 : 0;
	if (!strcmp(verb, "sleep"))
		return step_sleep(argument);
	if (!strcmp(verb, "program"))
		return step_program(argument, rest);
	if (!strcmp(verb, "go"))
		return step_go();
	if (!strcmp(verb, "stop"))
		return step_stop();
	if (!strcmp(verb, "keep"))
		return step_keep(argument, rest);
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
	power_off();
	return EXIT_FAILURE;
}
