/* SPDX-License-Identifier: BSD-3-Clause */
/* Added to a copy of store.h: each call of the core, and each access to a mark of a page, warns if its caller does not
 * hold the store's lock. */
static inline void fams_check_lock(struct store *store) {
    unsigned long owner = (unsigned long)atomic_long_read(&store->lock.owner) & ~7ul; /* without the mutex's flags */

    WARN_ONCE(owner != (unsigned long)current, "fams: a call without the lock");
}

static inline struct fams *fams_checked(const struct fams *fams) {
    fams_check_lock(container_of((struct fams *)fams, struct store, fams));
    return (struct fams *)fams;
}

static inline struct xarray *fams_pages_checked(struct xarray *pages) {
    fams_check_lock(container_of(pages, struct store, pages));
    return pages;
}

/* pages_free() has the store to itself, and looks for pages without a mark. */
static inline void *fams_find_checked(struct xarray *pages, unsigned long *index, unsigned long last, xa_mark_t mark) {
    if (mark != XA_PRESENT)
        fams_pages_checked(pages);
    return xa_find(pages, index, last, mark);
}

#define fams_open(fams, ...) fams_open(fams_checked(fams), __VA_ARGS__)
#define fams_close(fams) fams_close(fams_checked(fams))
#define fams_begin(fams, ...) fams_begin(fams_checked(fams), __VA_ARGS__)
#define fams_append(fams, ...) fams_append(fams_checked(fams), __VA_ARGS__)
#define fams_commit(fams) fams_commit(fams_checked(fams))
#define fams_apply(fams) fams_apply(fams_checked(fams))
#define fams_apply_page(fams, ...) fams_apply_page(fams_checked(fams), __VA_ARGS__)
#define fams_apply_end(fams) fams_apply_end(fams_checked(fams))
#define fams_page(fams, ...) fams_page(fams_checked(fams), __VA_ARGS__)
#define xa_find(pages, ...) fams_find_checked(pages, __VA_ARGS__)
#define xa_load(pages, ...) xa_load(fams_pages_checked(pages), __VA_ARGS__)
#define xa_store(pages, ...) xa_store(fams_pages_checked(pages), __VA_ARGS__)
#define xa_get_mark(pages, ...) xa_get_mark(fams_pages_checked(pages), __VA_ARGS__)
#define xa_set_mark(pages, ...) xa_set_mark(fams_pages_checked(pages), __VA_ARGS__)
#define xa_clear_mark(pages, ...) xa_clear_mark(fams_pages_checked(pages), __VA_ARGS__)
