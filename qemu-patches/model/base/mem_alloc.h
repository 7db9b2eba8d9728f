/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocation that cannot fail: the model has no way to go on without its tables. */
#ifndef MODEL_MEM_ALLOC_H
#define MODEL_MEM_ALLOC_H

#include <stddef.h>

/* Zeroed memory for `count` items; release it with free(). Aborts if there is none. */
void *mem_calloc(size_t count, size_t item_bytes);

/* Grow `items` to `count` items, as realloc() does. Aborts if there is no memory. */
void *mem_regrow(void *items, size_t count, size_t item_bytes);

/* Memory that begins at a multiple of `alignment`, a power of two; not zeroed. Release it with free(). */
void *mem_aligned_alloc(size_t alignment, size_t bytes);

#endif
