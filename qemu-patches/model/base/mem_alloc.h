/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Allocation that aborts when memory runs out: the model cannot continue without its tables. */
#ifndef MODEL_MEM_ALLOC_H
#define MODEL_MEM_ALLOC_H

#include <stddef.h>

/* Allocate zeroed memory for `count` items; release it with free(). */
void *mem_calloc(size_t count, size_t item_bytes);

/* Grow `items` to `count` items, as realloc() does. */
void *mem_regrow(void *items, size_t count, size_t item_bytes);

/* Allocate memory at a multiple of `alignment`, a power of two; not zeroed. Release it with free(). */
void *mem_aligned_alloc(size_t alignment, size_t bytes);

#endif
