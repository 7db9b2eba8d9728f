/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracked files: finding, opening, mapping, moving, resizing and closing them. */
#ifndef SNAPSHOT_REGIONS_H
#define SNAPSHOT_REGIONS_H

#include "base/region.h"

/* Names the tracked file that region_use() returned, or NULL. While the name is in scope, no other thread closes it. */
#define USE_REGION(name, used) struct region *name __attribute__((cleanup(region_unuse))) = (used)

/*
 * Looks without the lock of all files. Another thread may meanwhile close a file and open one in the same slot, or move
 * a file. So they read the generation before and after, and the length before the address: a file that moves gets its
 * new address before it gets longer.
 */
static inline uint64_t generation_of(const struct region *region) {
    return __atomic_load_n(&region->generation, __ATOMIC_ACQUIRE);
}

static inline bool generation_is_still(const struct region *region, uint64_t generation) {
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return generation_of(region) == generation;
}

/* True if the address is one of the first `*bytes` of the file, which are its mapped bytes or its span. */
static inline bool region_has(const struct region *region, const void *address, const uint64_t *bytes) {
    uint64_t generation = generation_of(region);
    if (!generation)
        return false;
    uint64_t length = __atomic_load_n(bytes, __ATOMIC_ACQUIRE);
    uint64_t offset = (uint64_t)address - (uint64_t)__atomic_load_n(&region->working, __ATOMIC_RELAXED);
    return offset < length && generation_is_still(region, generation);
}

/* region.c */
bool region_is_open(const struct region *region);
struct region *region_find(const void *address);
struct region *region_of_span(const void *address);
struct region *region_of_file(int fd);
struct region *region_use(int fd);
void region_unuse(struct region **used);
void regions_publish_at_exit(void);
void regions_let_others(void); /* called with the lock of all files: releases it for a moment, however often taken */
void regions_lock_inherit(void);

/* The lock of a file's contents (base/region.h). The caller names the file, or has it mapped. `contents_take_late` is
 * for callers that have the lock of all files; it releases that lock while it waits. */
void contents_init(struct region *region);
void contents_share(struct region *region);
void contents_take(struct region *region);
void contents_take_late(struct region *region);
void contents_release(struct region *region);
int region_open(const struct open_request *request, struct region **out); /* called with the lock of all files */
int region_close(struct region *region);
int region_recover(int fd, const char *path);
void region_populate(struct region *region);
int region_invalidate(struct region *region);
int region_msync(struct region *region, enum commit_mode mode);

/* mappings.c */
int mapping_add(struct region *region, uint64_t begin, uint64_t end);
int mapping_cut(struct region *region, uint64_t begin, uint64_t end);
bool mapping_has(struct region *region, uint64_t begin, uint64_t end);
int mapping_resize(struct region *region, uint64_t begin, uint64_t old_bytes, uint64_t new_bytes);

/* idle.c */
int region_unmapped(struct region *region);
void region_mapped(struct region *region);
void idle_closing(void);
void idle_check(void);
void idle_check_missed(void); /* called when a call by descriptor has ended */
void idle_inherit(void);
int region_open_making_room(const struct open_request *request, struct region **out);

/* room.c and resize.c: called with the contents taken */
int region_move(struct region *region, const void *hint, bool fixed, uint64_t bytes);
int region_resize(struct region *region, int fd, uint64_t bytes);

/* fork.c */
void fork_watch(void);

#endif
