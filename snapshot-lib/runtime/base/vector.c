/* SPDX-License-Identifier: BSD-3-Clause */
#include "vector.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arena.h"

#define CAPACITY_BYTES_INITIAL 16384u

void *memory_map(size_t bytes) {
    void *memory = kernel_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

void vector_grow(struct vector *vector, size_t bytes) {
    size_t capacity_bytes = vector->capacity_bytes ? 2 * vector->capacity_bytes : CAPACITY_BYTES_INITIAL;
    while (capacity_bytes < bytes)
        capacity_bytes *= 2;
    void *larger = memory_map(capacity_bytes), *items = vector->items;
    size_t old_bytes = vector->capacity_bytes;
    if (items)
        memcpy(larger, items, old_bytes);
    vector->items = larger; /* before the unmapping: a child that another thread forks meanwhile frees this pointer */
    vector->capacity_bytes = capacity_bytes;
    if (items)
        kernel_munmap(items, old_bytes);
}

void vector_free(struct vector *vector) {
    if (vector->items)
        kernel_munmap(vector->items, vector->capacity_bytes);
    *vector = (struct vector){0};
}
