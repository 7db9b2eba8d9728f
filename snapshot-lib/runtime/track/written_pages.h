/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which pages of some memory were stored to: the kernel write-protects them and, on the first store to one, notes it in
 * the page table and lets the store go on: no signal, no other thread. PAGEMAP_SCAN lists the pages so noted and
 * protects them again in one step. Linux 6.7 has both. What is here needs nothing of the library around it.
 */
#ifndef SNAPSHOT_WRITTEN_PAGES_H
#define SNAPSHOT_WRITTEN_PAGES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct written_pages {
    int uffd, pagemap;
};

/* 0 or -errno, and then why in words if it is that this kernel or process cannot have it. */
int written_pages_open(struct written_pages *pages, const char **why);
void written_pages_close(struct written_pages *pages);

/* From here on. Whole pages, which become small ones: of a huge page a store would change 2 MiB. */
int written_pages_watch(const struct written_pages *pages, void *address, uint64_t bytes);

/* Calls `found` for each run of pages that were stored to since the last time, by its offset. -EPERM: some page is not
 * watched. */
int written_pages_take(const struct written_pages *pages, void *address, uint64_t bytes,
                       void (*found)(void *context, uint64_t offset, uint64_t bytes), void *context);

#ifdef __cplusplus
}
#endif

#endif
