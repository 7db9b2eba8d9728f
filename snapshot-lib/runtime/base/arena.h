/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory directly from the kernel: the runtime must not call its own interposed functions. */
#ifndef SNAPSHOT_ARENA_H
#define SNAPSHOT_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNAPSHOT_PAGE 4096u

/* The system calls, without libc's functions. */
void *kernel_mmap(void *hint, size_t bytes, int protection, int flags, int fd, int64_t offset);
int kernel_munmap(void *address, size_t bytes);
void *kernel_mremap(void *address, size_t old_bytes, size_t bytes);

/* One address range holds all working copies, so that the inlined check is one comparison. */
extern uint64_t __snapshot_base, __snapshot_size;
enum arena_place {
    ARENA_ANYWHERE, /* in the arena, at the hint if it is free */
    ARENA_AGAIN,    /* at the hint if it is free, also outside the arena: the hint is the last address of the file */
    ARENA_FIXED,    /* at the hint or not at all, also outside the arena */
};
int arena_reserve(uint64_t span_bytes, const void *hint, enum arena_place place, uint8_t **address);
void arena_release(uint8_t *address, uint64_t span_bytes);
bool arena_has(const void *address);
int arena_populate(uint8_t *address, uint64_t bytes);
void arena_empty(uint8_t *address, uint64_t bytes);

/* placement.c */
int placement_apply(uint8_t *address, uint64_t bytes);

#endif
