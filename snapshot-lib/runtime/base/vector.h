/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing array in memory from the kernel, because a tracked store may lie inside an allocator. */
#ifndef SNAPSHOT_VECTOR_H
#define SNAPSHOT_VECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vector {
    void *items;
    size_t count;
    size_t capacity_bytes;
};

/* Zeroed pages. Ends the process if no memory is available, because a store cannot report an error. */
void *memory_map(size_t bytes);

/* Make space for `bytes` in all. */
void vector_grow(struct vector *vector, size_t bytes);
void vector_free(struct vector *vector);

/* Append an item and return its place; all items have this size. */
static inline void *vector_push(struct vector *vector, size_t item_bytes) {
    size_t offset = vector->count++ * item_bytes;
    if (__builtin_expect(offset + item_bytes > vector->capacity_bytes, 0))
        vector_grow(vector, offset + item_bytes);
    return (uint8_t *)vector->items + offset;
}

static inline void vector_push_word(struct vector *vector, uint64_t word) {
    *(uint64_t *)vector_push(vector, sizeof(word)) = word;
}

static inline uint64_t vector_word(const struct vector *vector, size_t index) {
    return ((const uint64_t *)vector->items)[index];
}

#define for_each_word(word, vector)                                                                                    \
    for (size_t word##_at = 0, word = 0;                                                                               \
         word##_at < (vector)->count && (word = vector_word((vector), word##_at), true); word##_at++)

#endif
