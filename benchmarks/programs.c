// SPDX-License-Identifier: Apache-2.0
/*
 * The init of a guest that does one kind of work, and powers off:
 *
 *	getpid N	system calls
 *	faults N	first accesses to pages of memory, in blocks of 16384
 *	pipe N		messages to another process and back
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096L
#define BLOCK_PAGES 16384L

static void getpids(long count)
{
	while (count--)
		syscall(SYS_getpid);
}

/* In blocks: the host limits the number of mappings, and each page may be one. */
static int faults(long count)
{
	for (; count > 0; count -= BLOCK_PAGES) {
		volatile char *pages = mmap(NULL, BLOCK_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (pages == MAP_FAILED)
			return -1;
		for (long i = 0; i < BLOCK_PAGES; i++)
			pages[i * PAGE_BYTES] = 1;
		munmap((void *)pages, BLOCK_PAGES * PAGE_BYTES);
	}
	return 0;
}

static int pipes(long count)
{
	int there[2], back[2];
	pid_t child;
	char byte = 0;

	if (pipe(there) || pipe(back))
		return -1;
	child = fork();
	if (child < 0)
		return -1;
	while (count--) {
		if (child && write(there[1], &byte, 1) != 1)
			return -1;
		if (read(child ? back[0] : there[0], &byte, 1) != 1)
			return -1;
		if (!child && write(back[1], &byte, 1) != 1)
			return -1;
	}
	if (!child)
		_exit(EXIT_SUCCESS);
	return 0;
}

int main(int argc, char **argv)
{
	const char *work = argc > 2 ? argv[1] : "";
	long count = argc > 2 ? atol(argv[2]) : 0;
	int failed = 0;

	if (!strcmp(work, "getpid"))
		getpids(count);
	else if (!strcmp(work, "faults"))
		failed = faults(count);
	else if (!strcmp(work, "pipe"))
		failed = pipes(count);
	else
		failed = -1;
	printf("ccbench: %s\n", failed ? "failed: the work" : "finished");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return EXIT_FAILURE;
}
