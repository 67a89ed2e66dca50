/* SPDX-License-Identifier: Apache-2.0
 *
 * std::random_device of libstdc++, with random numbers of the kernel. Programs in the guest preload
 * it: the original takes numbers of the processor (RDRAND), which no seed determines.
 */
#include <stdlib.h>
#include <sys/random.h>
#include <sys/types.h>

#define SYMBOL(name) __asm__("_ZNSt13random_device" name)

void init_string(void *device, const void *token)
	SYMBOL("7_M_initERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE");
void init_old_string(void *device, const void *token) SYMBOL("7_M_initERKSs");
void finish(void *device) SYMBOL("7_M_finiEv");
unsigned int value(void *device) SYMBOL("9_M_getvalEv");

void init_string(void *device, const void *token)
{
	(void)device;
	(void)token;
}

void init_old_string(void *device, const void *token)
{
	init_string(device, token);
}

void finish(void *device)
{
	(void)device;
}

unsigned int value(void *device)
{
	unsigned int number;

	(void)device;
	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		abort();
	return number;
}
