/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Initialisations after which Linux mixes nothing into its random numbers.
 *
 * It mixes the time after each initialisation of a built-in part. A further part would change
 * all random numbers, and with them the result of every scenario that draws any.
 *
 * init/main.c includes this file.
 */
#ifndef _CCBENCH_INITCALLS_H
#define _CCBENCH_INITCALLS_H

#include <linux/init.h>
#include <linux/kallsyms.h>
#include <linux/string.h>

/* Parts that programs need, and runs without programs do not use. */
static const char *const ccbench_unmixed[] = {
	"af_unix_init",
	"aio_setup",
	"fsnotify_init",
	"init_script_binfmt",
	"inotify_user_setup",
};

static bool ccbench_mixes_after(initcall_t fn)
{
	char name[KSYM_NAME_LEN];
	u32 i;

	if (lookup_symbol_name((unsigned long)fn, name))
		return true;
	for (i = 0; i < ARRAY_SIZE(ccbench_unmixed); i++)
		if (!strcmp(ccbench_unmixed[i], name))
			return false;
	return true;
}

#endif /* _CCBENCH_INITCALLS_H */
