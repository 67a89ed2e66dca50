/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory of the C library in place of a heap, which the host would create where the guest's
 * memory begins.
 *
 * A statically linked C library (glibc) puts the variables of its thread there before main(),
 * some of which the host's kernel writes (rseq). Processes of the guest's programs have no
 * memory of the program, but still that of mappings.
 *
 * This is part of the userspace side of User-Mode Linux. arch/um/os-Linux/main.c includes this
 * file, and the linker prefers its functions to those of the C library.
 */
#ifndef _CCBENCH_HEAP_H
#define _CCBENCH_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* The variables take 4 KB. Without room here, malloc() maps memory itself. */
#define CCBENCH_HEAP_BYTES	65536

void *__sbrk(intptr_t increment);
void *__sbrk(intptr_t increment)
{
	static char *next, *end;
	char *start;

	if (!next) {
		next = mmap(NULL, CCBENCH_HEAP_BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (next == MAP_FAILED)
			_exit(1);
		end = next + CCBENCH_HEAP_BYTES;
	}
	if (increment < 0 || increment > end - next)
		return (void *)-1;
	start = next;
	next += increment;
	return start;
}

void *sbrk(intptr_t increment) __attribute__((alias("__sbrk")));

/* Since glibc 2.36, for the variables. */
void *_dl_early_allocate(size_t size);
void *_dl_early_allocate(size_t size)
{
	void *start = __sbrk(size);

	return start == (void *)-1 ? NULL : start;
}

#endif /* _CCBENCH_HEAP_H */
