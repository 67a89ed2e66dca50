// SPDX-License-Identifier: GPL-2.0
/*
 * An init that executes a program of the host several times, each in a new network namespace.
 *
 *	init COUNT PROGRAM [ARGUMENT]...
 *
 * The program sees the files of the host, with the folder run of the guest's root on /mnt, and
 * devices and temporary files of its own. After each execution, a line contains its wait status.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* A script that blocks longer than this has failed, in seconds of the guest's time. */
#define MAX_S 600

/* Vector registers: as for other programs in the guest (kernel_modules/init/init.c). */
static char *environment[] = {
	"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
	"LD_PRELOAD=/mnt/preload.so",
	"GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-AVX512F,-AVX512VL,-AVX512BW,"
	"-AVX_Fast_Unaligned_Load,-FMA,-FMA4,-XSAVE,-XSAVEC",
	NULL,
};

static void require(int succeeded, const char *what)
{
	if (succeeded)
		return;
	printf("%s: %s\n", what, strerror(errno));
	fflush(stdout);
	reboot(RB_POWER_OFF);
}

static void load(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	require(fd >= 0 && !syscall(SYS_finit_module, fd, "", 0), file);
	close(fd);
}

static void device(const char *path, unsigned int major, unsigned int minor)
{
	require(!mknod(path, S_IFCHR | 0666, makedev(major, minor)), path);
}

static void prepare(void)
{
	require(!mount("none", "/proc", "proc", 0, NULL) &&
			!mount("none", "/host", "hostfs", MS_RDONLY, "/") &&
			!mount("none", "/host/proc", "proc", 0, NULL) &&
			!mount("none", "/host/dev", "ramfs", 0, NULL) &&
			!mount("none", "/host/tmp", "ramfs", 0, NULL) &&
			!mount("/run", "/host/mnt", NULL, MS_BIND, NULL),
		"cannot mount");
	load("/run/checksum.ko");
	load("/run/tun.ko");
	load("/run/af_packet.ko");
	device("/host/dev/null", 1, 3);
	device("/host/dev/zero", 1, 5);
	device("/host/dev/urandom", 1, 9);
	require(!mkdir("/host/dev/net", 0755), "/dev/net");
	device("/host/dev/net/tun", 10, 200);
	require(!chroot("/host") && !chdir("/mnt/scripts"), "/mnt/scripts");
	/* Otherwise the kernel delays the end of each sleep by 50 us. */
	require(!prctl(PR_SET_TIMERSLACK, 1), "timer slack");
}

static int execute(char **command)
{
	int status;
	pid_t program;

	fflush(stdout);
	program = fork();
	if (!program) {
		require(!unshare(CLONE_NEWNET), "network namespace");
		setsid();
		dup2(STDOUT_FILENO, STDERR_FILENO);
		alarm(MAX_S);
		execve(command[0], command, environment);
		require(0, command[0]);
	}
	waitpid(program, &status, 0);
	kill(-program, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0)
		;
	return status;
}

int main(int argc, char **argv)
{
	prepare();
	/* User-Mode Linux appends this to its command line. */
	if (!strcmp(argv[argc - 1], "console=tty0"))
		argv[argc - 1] = NULL;
	for (int left = argc > 2 ? atoi(argv[1]) : 0; left > 0; left--)
		printf("\nended with wait status %d\n", execute(argv + 2));
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return EXIT_FAILURE;
}
