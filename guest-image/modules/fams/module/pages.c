// SPDX-License-Identifier: GPL-2.0-or-later
/* The working copy: its pages, and the marks of pages that were stored to; commits and rollbacks. */
#include <linux/blkdev.h>
#include <linux/moduleparam.h>
#include <linux/pagemap.h>
#include <linux/rmap.h>

#include "store.h"

static unsigned apply_ms;
module_param(apply_ms, uint, 0644);
MODULE_PARM_DESC(apply_ms, "0: the data have a commit when it returns; else so many ms later, or by the next commit");

/* ---- Page faults ---- */

static struct page *new_page(struct store *store, unsigned long number) {
    struct page *page = alloc_page(GFP_KERNEL);

    if (!page)
        return NULL;
    if (xa_is_err(xa_store(&store->pages, number, page, GFP_KERNEL))) {
        __free_page(page);
        return NULL;
    }
    /* A page that is not in the working copy is in no unapplied commit, so the data have its last version. */
    memcpy(page_address(page), fams_page(&store->fams, number), PAGE_SIZE);
    page->mapping = store->mapping;
    page->index = number;
    return page;
}

static vm_fault_t fault(struct vm_fault *vmf) {
    struct store *store = vmf->vma->vm_file->private_data;

    if (vmf->pgoff >= store->fams.data_pages)
        return VM_FAULT_SIGBUS;
    mutex_lock(&store->lock);
    vmf->page = xa_load(&store->pages, vmf->pgoff) ?: new_page(store, vmf->pgoff);
    if (vmf->page)
        get_page(vmf->page);
    mutex_unlock(&store->lock);
    return vmf->page ? 0 : VM_FAULT_OOM;
}

/* The page stays locked until it is mapped for writing, so that no commit comes between the mark and the store. */
static vm_fault_t first_store(struct vm_fault *vmf) {
    struct store *store = vmf->vma->vm_file->private_data;

    mutex_lock(&store->lock);
    if (xa_get_mark(&store->pages, vmf->pgoff, PAGE_DECLARED) && pages_commit(store) < 0) {
        mutex_unlock(&store->lock);
        return VM_FAULT_SIGBUS; /* a store would change the declared content */
    }
    lock_page(vmf->page);
    xa_set_mark(&store->pages, vmf->pgoff, PAGE_STORED);
    mutex_unlock(&store->lock);
    return VM_FAULT_LOCKED;
}

const struct vm_operations_struct pages_vm_operations = {.fault = fault, .page_mkwrite = first_store};

/* The kernel marks pages as dirty. Nothing is written back, so the marks are ignored. */
const struct address_space_operations pages_mapping_operations = {.dirty_folio = noop_dirty_folio};

/* ---- Commits ---- */

#define for_each_marked(store, number, page, range, mark)                                                              \
    for ((number) = (range).first, (page) = xa_find(&(store)->pages, &(number), (range).last, mark); (page);           \
         (page) = xa_find_after(&(store)->pages, &(number), (range).last, mark))

static const struct page_range everything = {0, ULONG_MAX};

static u64 count_marked(struct store *store, struct page_range range, xa_mark_t mark) {
    unsigned long number;
    struct page *page;
    u64 count = 0;

    for_each_marked(store, number, page, range, mark) count++;
    return count;
}

/* After this call, the next store to the page causes a fault, and sets its mark again. */
static void protect(struct page *page) {
    lock_page(page);
    folio_mkclean(page_folio(page));
    unlock_page(page);
}

int pages_declare(struct store *store, struct page_range range) {
    unsigned long number;
    struct page *page;
    int status = pages_commit(store);

    if (status < 0)
        return status;
    if (count_marked(store, range, PAGE_STORED) > store->fams.capacity)
        return -EFBIG;
    for_each_marked(store, number, page, range, PAGE_STORED) {
        protect(page);
        xa_set_mark(&store->pages, number, PAGE_DECLARED);
        xa_clear_mark(&store->pages, number, PAGE_STORED);
    }
    return 0;
}

static int apply_declared(struct store *store) {
    unsigned long number;
    struct page *page;

    for_each_marked(store, number, page, everything, PAGE_DECLARED)
        fams_apply_page(&store->fams, number, page_address(page));
    return fams_apply_end(&store->fams);
}

/* pages_declare() and mmap() have checked the sizes, so only a broken invariant makes one of these calls fail. */
static int write_declared(struct store *store, u64 count) {
    unsigned long number;
    struct page *page;
    int status = fams_begin(&store->fams, count);

    for_each_marked(store, number, page, everything, PAGE_DECLARED) if (status == 0) status =
        fams_append(&store->fams, number, page_address(page));
    return status < 0 ? status : fams_commit(&store->fams);
}

/* The pages stay declared, and the working copy stays unchanged. */
static int stop(struct store *store, int status) {
    pr_err_once(
        "fams: %s; the store of %pg takes no commit any more; close it, and open it again to get the last one\n",
        store->fams.broken ?: "a commit was refused", file_bdev(store->device));
    return status == -EUCLEAN ? status : -EIO;
}

int pages_commit(struct store *store) {
    u64 count = count_marked(store, everything, PAGE_DECLARED);
    unsigned long number;
    struct page *page;
    int status;

    if (!count)
        return store->fams.broken ? -EUCLEAN : 0;
    status = write_declared(store, count);
    if (status == 0 && !apply_ms)
        status = apply_declared(store);
    if (status < 0)
        return stop(store, status);
    if (apply_ms)
        mod_delayed_work(system_unbound_wq, &store->work, msecs_to_jiffies(apply_ms));
    for_each_marked(store, number, page, everything, PAGE_DECLARED) xa_clear_mark(&store->pages, number, PAGE_DECLARED);
    return 0;
}

void pages_work(struct work_struct *work) {
    struct store *store = container_of(to_delayed_work(work), struct store, work);

    mutex_lock(&store->lock);
    if (xa_marked(&store->pages, PAGE_DECLARED))
        pages_commit(store);
    else if (fams_apply(&store->fams) < 0)
        stop(store, -EUCLEAN);
    mutex_unlock(&store->lock);
}

/* ---- Rollback and release ---- */

int pages_roll_back(struct store *store, struct page_range range) {
    unsigned long number;
    struct page *page;
    int status = pages_commit(store);

    if (status == 0 && fams_apply(&store->fams) < 0)
        status = stop(store, -EUCLEAN);
    if (status < 0)
        return status;
    for_each_marked(store, number, page, range, PAGE_STORED) {
        protect(page);
        memcpy(page_address(page), fams_page(&store->fams, number), PAGE_SIZE);
        xa_clear_mark(&store->pages, number, PAGE_STORED);
    }
    return 0;
}

void pages_free(struct store *store) {
    unsigned long number;
    struct page *page;

    xa_for_each(&store->pages, number, page) {
        page->mapping = NULL;
        put_page(page);
    }
    xa_destroy(&store->pages);
}
