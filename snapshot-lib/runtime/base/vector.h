/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing array in memory from the kernel, because a tracked store may lie inside an allocator. */
#ifndef SNAPSHOT_VECTOR_H
#define SNAPSHOT_VECTOR_H

#include <stdatomic.h>
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

/* Make space for another item and return its place; all items have this size. */
static inline void *vector_place(struct vector *vector, size_t item_bytes) {
    size_t offset = vector->count * item_bytes;
    if (__builtin_expect(offset + item_bytes > vector->capacity_bytes, 0))
        vector_grow(vector, offset + item_bytes);
    return (uint8_t *)vector->items + offset;
}

/* The item at vector_place() is complete. Counted last: a signal handler may leave the push for good, and the program
 * may commit then. */
static inline void vector_add(struct vector *vector) {
    atomic_signal_fence(memory_order_release);
    vector->count++;
}

static inline void vector_push_word(struct vector *vector, uint64_t word) {
    *(uint64_t *)vector_place(vector, sizeof(word)) = word;
    vector_add(vector);
}

static inline uint64_t vector_word(const struct vector *vector, size_t index) {
    return ((const uint64_t *)vector->items)[index];
}

#define for_each_word(word, vector)                                                                                    \
    for (size_t word##_at = 0, word = 0;                                                                               \
         word##_at < (vector)->count && (word = vector_word((vector), word##_at), true); word##_at++)

#endif
