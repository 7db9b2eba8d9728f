/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An open file of /dev/fams. Its mapping is of a working copy: pages of ordinary memory, which come as they are first
 * touched and stay until the file is closed. A page is mapped for reading only until its first store after a commit,
 * which is how it gets its mark.
 *
 * Locks, from the outside: mmap_lock, the store's, a page's. Under the store's no memory of a process is touched.
 */
#ifndef FAMS_STORE_H
#define FAMS_STORE_H

#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "fams.h"

#define PAGE_STORED XA_MARK_0   /* stored to since the last commit */
#define PAGE_DECLARED XA_MARK_1 /* in the next commit, and not stored to until that is made */

struct store {
    struct mutex lock;
    struct fams fams;
    struct xarray pages;      /* of the working copy, by number */
    struct delayed_work work; /* makes the declared commit, or applies the last one */
    struct address_space *mapping;
    struct file *device; /* NULL: not attached */
    struct dax_device *dax;
};

/* pages.c, each with the lock held. -EUCLEAN: an invariant is broken, and the store takes no commit any more. The pages
 * of a range: */
struct page_range {
    unsigned long first, last;
};
int pages_declare(struct store *store, struct page_range range);
int pages_commit(struct store *store); /* what is declared, if anything is */
int pages_roll_back(struct store *store, struct page_range range);
void pages_free(struct store *store);
void pages_work(struct work_struct *work);

extern const struct vm_operations_struct pages_vm_operations;
extern const struct address_space_operations pages_mapping_operations;

#endif
