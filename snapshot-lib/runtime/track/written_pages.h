/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the pages of a memory range that were stored to. The kernel write-protects the pages, notes the first store to
 * a page in the page table, and lets the store proceed: no signal, no other thread. PAGEMAP_SCAN lists the noted pages
 * and protects them again in one step. Linux has both since version 6.7. The code here does not depend on the rest of
 * the library.
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

/* Return 0 or -errno. `why` becomes the reason in words if this kernel or process does not support the method, else
 * NULL. */
int written_pages_open(struct written_pages *pages, const char **why);
void written_pages_close(struct written_pages *pages);

/* Watch these whole pages from now on. They become small pages: with huge pages, one store would change 2 MiB. */
int written_pages_watch(const struct written_pages *pages, void *address, uint64_t bytes);

/* Call `found`, with the offset, for each run of pages that were stored to since the last call. Return 0 or -errno;
 * -EPERM: some page is not watched. */
int written_pages_take(const struct written_pages *pages, void *address, uint64_t bytes,
                       void (*found)(void *context, uint64_t offset, uint64_t bytes), void *context);

#ifdef __cplusplus
}
#endif

#endif
