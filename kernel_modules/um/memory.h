/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The guest's memory in huge pages of the host.
 *
 * Packets lie anywhere in the memory. With small pages, the processor looks up the address of
 * nearly each of them in the page tables, of the host and of the machine that the host may be a
 * guest of. A file in memory has huge pages if its file system is mounted so, which a user may do
 * in a namespace of their own, where the host permits that. The file outlives the namespace.
 *
 * This is part of the userspace side of User-Mode Linux. arch/um/os-Linux/mem.c includes this file.
 */
#ifndef _CCBENCH_MEMORY_H
#define _CCBENCH_MEMORY_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <os.h>

/* From linux/mount.h, which earlier C libraries do not have. */
#define CCBENCH_FSOPEN_CLOEXEC		1
#define CCBENCH_FSCONFIG_SET_STRING	1
#define CCBENCH_FSCONFIG_CMD_CREATE	6
#define CCBENCH_FSMOUNT_CLOEXEC		1

static int ccbench_write(const char *path, const char *text)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC), length = strlen(text);
	int written;

	if (fd < 0)
		return -1;
	written = write(fd, text, length);
	close(fd);
	return written == length ? 0 : -1;
}

/* Enters namespaces in which this process may mount, with the same user. */
static int ccbench_enter_namespaces(void)
{
	const int user = getuid(), group = getgid();
	char map[64];

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS))
		return -1;
	snprintf(map, sizeof(map), "%d %d 1", user, user);
	if (ccbench_write("/proc/self/uid_map", map))
		return -1;
	snprintf(map, sizeof(map), "%d %d 1", group, group);
	return ccbench_write("/proc/self/setgroups", "deny") ||
	       ccbench_write("/proc/self/gid_map", map) ? -1 : 0;
}

/* Returns an empty file with huge pages, or -1. */
static int ccbench_huge_file(void)
{
	int fs, mount;

	if (ccbench_enter_namespaces())
		return -1;
	fs = syscall(SYS_fsopen, "tmpfs", CCBENCH_FSOPEN_CLOEXEC);
	if (fs < 0 ||
	    syscall(SYS_fsconfig, fs, CCBENCH_FSCONFIG_SET_STRING, "huge", "always", 0) ||
	    syscall(SYS_fsconfig, fs, CCBENCH_FSCONFIG_SET_STRING, "size", "100%", 0) ||
	    syscall(SYS_fsconfig, fs, CCBENCH_FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		return -1;
	mount = syscall(SYS_fsmount, fs, CCBENCH_FSMOUNT_CLOEXEC, 0);
	return mount < 0 ? -1 : openat(mount, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

union ccbench_message {
	struct cmsghdr header;
	char space[CMSG_SPACE(sizeof(int))];
};

/* Sends a file to another process, or receives one, and returns it, or -1. */
static int ccbench_pass(int socket, int file)
{
	union ccbench_message control = { };
	char byte = 0;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	if (file < 0) {
		if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
			return -1;
		memcpy(&file, CMSG_DATA(&control.header), sizeof(file));
		return file;
	}
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN(sizeof(file));
	memcpy(CMSG_DATA(&control.header), &file, sizeof(file));
	return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? file : -1;
}

/* Returns a file of some size for the memory, or -1 if the host gives none with huge pages. */
static int ccbench_memory_file(unsigned long long bytes)
{
	int sockets[2], file = -1;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -1;
	/*
	 * The kernel's process does not leave its namespaces. The end of the other one must not be a
	 * signal: the kernel would look for the process among those of programs.
	 */
	child = syscall(SYS_clone, 0UL, NULL, NULL, NULL, 0UL);
	if (!child) {
		file = ccbench_huge_file();
		_exit(file < 0 || ccbench_pass(sockets[0], file) < 0);
	}
	close(sockets[0]);
	if (child > 0) {
		file = ccbench_pass(sockets[1], -1);
		CATCH_EINTR(waitpid(child, NULL, __WALL));
	}
	close(sockets[1]);
	if (file >= 0 && ftruncate(file, bytes)) {
		close(file);
		return -1;
	}
	return file;
}

#endif /* _CCBENCH_MEMORY_H */
