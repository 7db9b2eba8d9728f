/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An open file of /dev/fams. Its mapping shows a working copy: pages of ordinary memory, each of which is allocated at
 * its first access and stays until the file is closed. After a commit a page is mapped read-only until the first store
 * to it; the fault of that store sets the page's mark.
 *
 * Lock order, outermost first: mmap_lock, the store's lock, the lock of a page. Code under the store's lock does not
 * access the memory of a process.
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
#define PAGE_DECLARED XA_MARK_1 /* in the next commit, and not stored to until that commit is made */

struct store {
    struct mutex lock;
    struct fams fams;
    struct xarray pages;      /* of the working copy, by number */
    struct delayed_work work; /* makes the declared commit, or applies the last one */
    struct address_space *mapping;
    struct file *device; /* NULL: not attached */
    struct dax_device *dax;
};

/* pages.c. The caller holds the lock, except for pages_free() and pages_work(). -EUCLEAN: an invariant is broken, and
 * the store accepts no further commit. A range includes its last page. */
struct page_range {
    unsigned long first, last;
};
int pages_declare(struct store *store, struct page_range range);
int pages_commit(struct store *store); /* the declared pages, if any */
int pages_roll_back(struct store *store, struct page_range range);
void pages_free(struct store *store);
void pages_work(struct work_struct *work);

extern const struct vm_operations_struct pages_vm_operations;
extern const struct address_space_operations pages_mapping_operations;

#endif
