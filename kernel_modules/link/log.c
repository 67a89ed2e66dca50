// SPDX-License-Identifier: GPL-2.0
/*
 * Record files on the host.
 *
 * A guest of User-Mode Linux is a process of the host, so a full buffer is written by one
 * write(2) of that process, without the page cache of the guest.
 */
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <os.h>

#include "ccbench.h"

static char *out = "";
module_param(out, charp, 0444);
MODULE_PARM_DESC(out, "directory of record files on the host");

struct ccbench_log {
	struct list_head list;
	int fd;
	size_t used;
	size_t size;
	u8 *buffer;
};

static LIST_HEAD(logs);
/* The experiment has ended, and later records are of no interest. */
static bool is_complete;

struct ccbench_log *ccbench_log_open(const char *name, size_t buffer_bytes)
{
	struct ccbench_log *log;
	char *path;
	int fd;

	path = kasprintf(GFP_KERNEL, "%s/%s", out, name);
	if (!path)
		return ERR_PTR(-ENOMEM);
	fd = os_open_file(path, of_create(of_write(OPENFLAGS())), 0644);
	kfree(path);
	if (fd < 0)
		return ERR_PTR(fd);

	log = kzalloc(sizeof(*log), GFP_KERNEL);
	if (!log)
		goto close;
	log->buffer = kvmalloc(buffer_bytes, GFP_KERNEL);
	if (!log->buffer)
		goto free;
	log->fd = fd;
	log->size = buffer_bytes;
	list_add_tail(&log->list, &logs);
	return log;

free:
	kfree(log);
close:
	os_close_file(fd);
	return ERR_PTR(-ENOMEM);
}
EXPORT_SYMBOL_GPL(ccbench_log_open);

void ccbench_log_flush(struct ccbench_log *log)
{
	size_t done = 0;

	while (!is_complete && done < log->used) {
		int n = os_write_file(log->fd, log->buffer + done, log->used - done);

		/* An incomplete result must not look like a result. */
		if (n <= 0 && n != -EINTR)
			panic("ccbench: cannot write results to the host: error %d", n);
		if (n > 0)
			done += n;
	}
	log->used = 0;
}
EXPORT_SYMBOL_GPL(ccbench_log_flush);

/* Returns room for the next record, which the caller fills immediately. */
void *ccbench_log_append(struct ccbench_log *log, size_t bytes)
{
	void *record;

	if (log->used + bytes > log->size)
		ccbench_log_flush(log);
	record = log->buffer + log->used;
	log->used += bytes;
	return record;
}
EXPORT_SYMBOL_GPL(ccbench_log_append);

void ccbench_complete_logs(void)
{
	struct ccbench_log *log;

	list_for_each_entry(log, &logs, list)
		ccbench_log_flush(log);
	is_complete = true;
}
