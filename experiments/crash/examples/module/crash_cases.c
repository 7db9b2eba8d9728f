// SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later
/*
 * Mistakes of a kernel module on persistent memory: one case for each mistake.
 * docs/results/crash.md lists them.
 *
 * "NUMBER bugs" written to /dev/crash_cases makes a case with its mistake, "NUMBER sound" without,
 * and "NUMBER flush" makes all of it durable. The memory is that of a block device with DAX, the
 * parameter `disk`, which is looked up when /dev/crash_cases is opened.
 */
#include <linux/blkdev.h>
#include <linux/dax.h>
#include <linux/file.h>
#include <linux/libnvdimm.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "cells.h"

static char *disk = "/dev/pmem0.1";
module_param(disk, charp, 0644);
MODULE_PARM_DESC(disk, "block device with DAX that has the cases");

static __always_inline void persist(void *at, size_t size)
{
	arch_wb_cache_pmem(at, size);
	wmb();
}

static __always_inline void commit(struct cell *cell)
{
	WRITE_ONCE(cell->valid.word[0], 1);
	persist(&cell->valid, sizeof(cell->valid));
}

/* A record of two lines, then the word that says that it is valid. */

static noinline void missing_flush(struct cell *cell, bool bugs)
{
	WRITE_ONCE(cell->record[0].word[0], 1);
	WRITE_ONCE(cell->record[1].word[0], 1);
	if (!bugs)
		arch_wb_cache_pmem(&cell->record[0], sizeof(cell->record[0]));
	arch_wb_cache_pmem(&cell->record[1], sizeof(cell->record[1]));
	wmb();
	commit(cell);
}

/* smp_wmb() orders the view of other CPUs, and on x86 it is a barrier of the compiler only. */
static noinline void missing_fence(struct cell *cell, bool bugs)
{
	WRITE_ONCE(cell->record[0].word[0], 1);
	WRITE_ONCE(cell->record[1].word[0], 1);
	arch_wb_cache_pmem(cell->record, sizeof(cell->record));
	if (bugs)
		smp_wmb();
	else
		wmb();
	commit(cell);
}

static noinline void valid_first(struct cell *cell, bool bugs)
{
	if (bugs)
		commit(cell);
	WRITE_ONCE(cell->record[0].word[0], 1);
	WRITE_ONCE(cell->record[1].word[0], 1);
	persist(cell->record, sizeof(cell->record));
	if (!bugs)
		commit(cell);
}

static noinline void short_write_back(struct cell *cell, bool bugs)
{
	WRITE_ONCE(cell->record[0].word[0], 1);
	WRITE_ONCE(cell->record[1].word[0], 1);
	persist(cell->record, bugs ? sizeof(struct line) : sizeof(cell->record));
	commit(cell);
}

/* The payload is copied around the caches. Its header is not, so that a fence is not enough. */
static noinline void plain_store(struct cell *cell, bool bugs)
{
	const u64 payload[2] = {1, 1};

	memcpy_flushcache(&cell->record[1], payload, sizeof(payload));
	WRITE_ONCE(cell->record[0].word[0], 1);
	if (!bugs)
		arch_wb_cache_pmem(&cell->record[0], sizeof(cell->record[0]));
	wmb();
	commit(cell);
}

static noinline void commit_without_fence(struct cell *cell, bool bugs)
{
	WRITE_ONCE(cell->record[0].word[0], 1);
	WRITE_ONCE(cell->record[1].word[0], 1);
	persist(cell->record, sizeof(cell->record));
	WRITE_ONCE(cell->valid.word[0], 1);
	arch_wb_cache_pmem(&cell->valid, sizeof(cell->valid));
	if (!bugs)
		wmb();
}

/* Two words of a line that must change together: in place, or in a copy that `valid` switches to.
 */
static noinline void two_words(struct cell *cell, bool bugs)
{
	struct line *pair = &cell->record[bugs ? 0 : 1];

	WRITE_ONCE(pair->word[0], 1);
	WRITE_ONCE(pair->word[1], 1);
	persist(pair, sizeof(*pair));
	if (!bugs)
		commit(cell);
}

/* An undo log of both lines: recovery copies it back as long as it is valid. */
static noinline void log_cleared_early(struct cell *cell, bool bugs)
{
	WRITE_ONCE(cell->log.word[0], 0);
	persist(&cell->log, sizeof(cell->log));
	commit(cell);
	WRITE_ONCE(cell->record[0].word[0], 1);
	WRITE_ONCE(cell->record[1].word[0], 1);
	if (!bugs)
		persist(cell->record, sizeof(cell->record));
	WRITE_ONCE(cell->valid.word[0], 0);
	arch_wb_cache_pmem(cell->record, sizeof(cell->record));
	persist(&cell->valid, sizeof(cell->valid));
}

#define FUNCTION(function, name, holds) function,
static void (*const cases[])(struct cell *, bool) = {CRASH_CASES(FUNCTION)};

/* An open /dev/crash_cases: the disk, and where its memory is mapped. */
struct opened {
	struct file *disk;
	struct dax_device *dax;
	void *cells;
};

static int map_cells(struct opened *opened)
{
	u64 begin;
	long pages = DIV_ROUND_UP(ARRAY_SIZE(cases) * CELL_BYTES, PAGE_SIZE), mapped;
	int lock;

	opened->dax = fs_dax_get_by_bdev(file_bdev(opened->disk), &begin, NULL, NULL);
	if (!opened->dax)
		return -EOPNOTSUPP;
	lock = dax_read_lock();
	mapped = dax_direct_access(opened->dax, PHYS_PFN(begin + CASES_AT), pages, DAX_ACCESS,
				   &opened->cells, NULL);
	dax_read_unlock(lock);
	if (mapped >= pages)
		return 0;
	fs_put_dax(opened->dax, NULL);
	return mapped < 0 ? mapped : -ENOSPC;
}

static int open_cases(struct inode *inode, struct file *file)
{
	struct opened *opened = kzalloc(sizeof(*opened), GFP_KERNEL);
	int failed;

	if (!opened)
		return -ENOMEM;
	opened->disk = bdev_file_open_by_path(disk, BLK_OPEN_READ | BLK_OPEN_WRITE, NULL, NULL);
	if (IS_ERR(opened->disk)) {
		failed = PTR_ERR(opened->disk);
		goto free;
	}
	failed = map_cells(opened);
	if (failed)
		goto close;
	file->private_data = opened;
	return 0;
close:
	fput(opened->disk);
free:
	kfree(opened);
	return failed;
}

static int release_cases(struct inode *inode, struct file *file)
{
	struct opened *opened = file->private_data;

	fs_put_dax(opened->dax, NULL);
	fput(opened->disk);
	kfree(opened);
	return 0;
}

static ssize_t write_cases(struct file *file, const char __user *from, size_t size, loff_t *at)
{
	struct opened *opened = file->private_data;
	char line[32] = "", how[8];
	unsigned int number;
	struct cell *cell;

	if (size >= sizeof(line) || copy_from_user(line, from, size))
		return -EINVAL;
	if (sscanf(line, "%u %7s", &number, how) != 2 || number >= ARRAY_SIZE(cases))
		return -EINVAL;
	cell = opened->cells + number * CELL_BYTES;
	if (!strcmp(how, "flush"))
		persist(cell, sizeof(*cell));
	else
		cases[number](cell, !strcmp(how, "bugs"));
	return size;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = open_cases,
	.release = release_cases,
	.write = write_cases,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "crash_cases",
	.fops = &operations,
};

module_misc_device(device);
MODULE_DESCRIPTION("Mistakes on persistent memory, for crash tests");
MODULE_LICENSE("Dual BSD/GPL");
