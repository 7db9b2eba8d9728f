/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One address range holds all working copies, at a place that other mappings avoid. Because the place is fixed,
 * addresses repeat from run to run; programs should store offsets all the same.
 */
#define _GNU_SOURCE
#include "arena.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "region.h"

#define ARENA_HINT ((void *)0x100000000000)
#define ARENA_BYTES (1ull << 40)

/* Part of the ABI (abi.def): instrumented code reads them without a lock. Until the size is set nothing is tracked. */
uint64_t __snapshot_base;
uint64_t __snapshot_size;

struct span {
    uint64_t begin, end;
};

/* One span more than there are files, for a file that is being moved. */
#define SPANS_MAX (REGIONS_MAX + 1)
static struct span spans[SPANS_MAX];

void *kernel_mmap(void *hint, size_t bytes, int protection, int flags, int fd, int64_t offset) {
    return (void *)syscall(SYS_mmap, hint, bytes, protection, flags, fd, offset);
}

int kernel_munmap(void *address, size_t bytes) { return (int)syscall(SYS_munmap, address, bytes); }

void *kernel_mremap(void *address, size_t old_bytes, size_t bytes) {
    return (void *)syscall(SYS_mremap, address, old_bytes, bytes, MREMAP_MAYMOVE);
}

static int arena_create(void) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *arena = kernel_mmap(ARENA_HINT, ARENA_BYTES, PROT_NONE, flags, -1, 0);
    if (arena == MAP_FAILED)
        return -errno;
    __atomic_store_n(&__snapshot_base, (uint64_t)arena, __ATOMIC_RELEASE);
    return 0;
}

static bool is_in_arena(uint64_t address) { return __snapshot_base && address - __snapshot_base < ARENA_BYTES; }

static bool span_is_free(uint64_t begin, uint64_t end) {
    if (end < begin)
        return false;
    for (size_t i = 0; i < SPANS_MAX; i++)
        if (begin < spans[i].end && spans[i].begin < end)
            return false;
    return end <= __snapshot_base + ARENA_BYTES;
}

/* The lowest free place: the start of the arena or the end of a span. A guard page lies between two spans. */
static uint64_t span_find(uint64_t bytes) {
    if (span_is_free(__snapshot_base, __snapshot_base + bytes))
        return __snapshot_base;
    for (size_t i = 0; i < SPANS_MAX; i++)
        if (is_in_arena(spans[i].end) && span_is_free(spans[i].end, spans[i].end + bytes))
            return spans[i].end;
    return 0;
}

/* True for all addresses of the arena, because those between files must stay reserved, and for spans outside it. */
bool arena_has(const void *address) {
    uint64_t place = (uint64_t)address;
    bool has = is_in_arena(place);
    for (size_t i = 0; i < SPANS_MAX && !has && place - __snapshot_base < __snapshot_size; i++)
        has = place - spans[i].begin < spans[i].end - spans[i].begin;
    return has;
}

/*
 * Outside the arena the kernel decides whether an address is free. Places below the arena are not taken: instrumented
 * code reads base and size one after the other, so only the size may change. All addresses between the arena and the
 * place then pass the inlined check. A store there takes the slow path, which searches the list of files.
 */
static bool take_outside(uint64_t place, uint64_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    if (place < __snapshot_base)
        return false;
    void *taken = kernel_mmap((void *)place, bytes, PROT_NONE, flags, -1, 0);
    if (taken != MAP_FAILED && taken != (void *)place) /* before Linux 4.17 the address is a hint */
        kernel_munmap(taken, bytes);
    return taken == (void *)place;
}

static bool take(uint64_t place, uint64_t bytes, enum arena_place where) {
    if (place % 4096)
        return false;
    if (is_in_arena(place))
        return span_is_free(place, place + bytes);
    return where != ARENA_ANYWHERE && take_outside(place, bytes);
}

/* Reserve addresses without access rights. Returns 0, -ENOMEM, or -EEXIST: the one place asked for is not free. */
int arena_reserve(uint64_t span_bytes, const void *hint, enum arena_place where, uint8_t **address) {
    const uint64_t guard = 4096, bytes = span_bytes + guard;
    if (!__snapshot_base) {
        int status = arena_create();
        if (status < 0)
            return status;
    }
    size_t slot = 0;
    while (slot < SPANS_MAX && spans[slot].end)
        slot++;
    if (slot == SPANS_MAX)
        return -ENOMEM;
    uint64_t place = (uint64_t)hint;
    if (!take(place, bytes, where)) {
        if (where == ARENA_FIXED)
            return -EEXIST;
        place = span_find(bytes);
    }
    if (!place)
        return -ENOMEM;
    spans[slot] = (struct span){place, place + bytes};
    if (place + span_bytes - __snapshot_base > __snapshot_size)
        __atomic_store_n(&__snapshot_size, place + span_bytes - __snapshot_base, __ATOMIC_RELEASE);
    *address = (uint8_t *)place;
    return 0;
}

/* Map zeroed memory within a span; it takes DRAM at the first access to each page. */
int arena_populate(uint8_t *address, uint64_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (bytes > 0 && kernel_mmap(address, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
        return -errno;
    return placement_apply(address, bytes);
}

/* Keep the addresses without memory: an access is a segmentation fault. */
void arena_empty(uint8_t *address, uint64_t bytes) {
    if (bytes > 0)
        kernel_mmap(address, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

void arena_release(uint8_t *address, uint64_t span_bytes) {
    for (size_t i = 0; i < SPANS_MAX; i++) {
        if (spans[i].begin != (uint64_t)address)
            continue;
        if (is_in_arena(spans[i].begin))
            arena_empty(address, span_bytes);
        else
            kernel_munmap(address, spans[i].end - spans[i].begin);
        spans[i] = (struct span){0, 0};
    }
}
