/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tag arrays of the CPU caches: sets of ways, and the order in which the ways of a
 * set were used. A tag distinguishes a line from the others of its set; no bytes
 * are stored. Tags do not move, so that L1 can hand out stable slots. A caller that
 * calls mem_set_use() on a hit gets LRU, a caller that does not gets FIFO.
 *
 * Every miss of the guest searches some ten sets here, so instructions count: a set
 * of up to 12 ways is one line of the host, its tags are compared all at once, and
 * the order of use is a list of ways in the nibbles of a word.
 */
#ifndef MODEL_SETASSOC_H
#define MODEL_SETASSOC_H

#include "../config/cpu.h"

#include <assert.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef uint32_t MemTag;

#define MEM_NO_TAG UINT32_MAX
#define MEM_MAX_CPU_WAYS 16u
#define MEM_NO_WAY MEM_MAX_CPU_WAYS

typedef struct MemSet {
    uint64_t order; /* nibbles: the way used last is the lowest, the next victim the highest in use */
    uint32_t marks; /* MEM_DIRTY and MEM_PREFETCHED of each way */
    MemTag tags[];
} MemSet;

/* The marks of way 0; shift them by the number of another way. */
#define MEM_DIRTY 1u
#define MEM_PREFETCHED (1u << MEM_MAX_CPU_WAYS) /* prefetched and not used yet */
#define MEM_MARKS (MEM_DIRTY | MEM_PREFETCHED)

static_assert(sizeof(MemSet) == 16, "12 tags and this are 64 bytes");

/* The number of sets need not be a power of two. */
typedef struct MemSets {
    uint8_t *sets;
    size_t set_bytes;
    uint64_t count;
    uint64_t mask;       /* count - 1 */
    uint64_t magic;      /* 2^64 / count, rounded up: a multiplication replaces the division */
    uint64_t order_mask; /* the nibbles in use */
    uint32_t ways;
    unsigned order_top; /* shift to the nibble of the next victim */
    unsigned shift;     /* log2 of count, if it is a power of two */
    bool power_of_two;
} MemSets;

/* The place of a line, or where it would go. Lines are below mem_sets_line_end(). */
typedef struct MemPlace {
    MemSet *set;
    uint64_t number; /* number of the set */
    MemTag tag;
} MemPlace;

void mem_sets_init(MemSets *a, const MemCacheConfig *config);
void mem_sets_destroy(MemSets *a);
void mem_sets_clear(MemSets *a);

static inline MemSet *mem_set_at(const MemSets *a, uint64_t number) {
    return (MemSet *)(void *)(a->sets + number * a->set_bytes);
}

static inline MemPlace mem_place_of(const MemSets *a, uint64_t line) {
    uint64_t tag, number;

    if (a->power_of_two) {
        tag = line >> a->shift;
        number = line & a->mask;
    } else {
        tag = (uint64_t)(((unsigned __int128)line * a->magic) >> 64);
        number = line - tag * a->count;
    }
    return (MemPlace){.set = mem_set_at(a, number), .number = number, .tag = (MemTag)tag};
}

static inline uint64_t mem_sets_line_end(const MemSets *a) { return a->count * MEM_NO_TAG; }

/* The line of a tag in set `number`. */
static inline uint64_t mem_line_of(const MemSets *a, uint64_t number, MemTag tag) {
    return (uint64_t)tag * a->count + number;
}

/* Bit i: tag i equals `tag`. `count` is at most 16. */
static inline uint32_t mem_equal_tags_plain(const MemTag *tags, uint32_t count, MemTag tag) {
    uint32_t equal = 0;

    for (uint32_t i = 0; i < count; i++) {
        equal |= (uint32_t)(tags[i] == tag) << i;
    }
    return equal;
}

#ifdef __SSE2__
/* The same for 8 tags, as eight words. */
static inline __m128i mem_equal_8_tags(const MemTag *tags, __m128i wanted) {
    __m128i low = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(const void *)tags), wanted);
    __m128i high = _mm_cmpeq_epi32(_mm_loadu_si128((const __m128i *)(const void *)(tags + 4)), wanted);
    return _mm_packs_epi32(low, high);
}
#endif

/* As above. May read tags up to the next multiple of 8, but ignores them. */
static inline uint32_t mem_equal_tags(const MemTag *tags, uint32_t count, MemTag tag) {
#ifdef __SSE2__
    __m128i wanted = _mm_set1_epi32((int)tag);
    __m128i low = mem_equal_8_tags(tags, wanted);
    __m128i high = count > 8 ? mem_equal_8_tags(tags + 8, wanted) : _mm_setzero_si128();
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(low, high)) & ((1u << count) - 1);
#else
    return mem_equal_tags_plain(tags, count, tag);
#endif
}

/* The way that holds the line, or MEM_NO_WAY. */
static inline uint32_t mem_set_find(const MemSets *a, MemPlace p) {
    return (uint32_t)__builtin_ctz(mem_equal_tags(p.set->tags, a->ways, p.tag) | 1u << MEM_NO_WAY);
}

/* The way used last if it holds the line, else MEM_NO_WAY. */
static inline uint32_t mem_set_find_newest(MemPlace p) {
    uint32_t newest = (uint32_t)p.set->order & 15;
    return p.set->tags[newest] == p.tag ? newest : MEM_NO_WAY;
}

/* The shift to the nibble of a way in the order. */
static inline unsigned mem_order_shift(uint64_t order, uint32_t way) {
    const uint64_t ones = UINT64_C(0x1111111111111111);
    uint64_t other = order ^ way * ones;
    return (unsigned)__builtin_ctzll((other - ones) & ~other & ones << 3) - 3; /* the lowest nibble that is 0 */
}

/* Make the way the last to be evicted. */
static inline void mem_set_use(MemSet *s, uint32_t way) {
    unsigned shift = mem_order_shift(s->order, way);
    uint64_t newer = (UINT64_C(1) << shift) - 1;
    uint64_t older = ~((UINT64_C(16) << shift) - 1);
    s->order = (s->order & older) | (s->order & newer) << 4 | way;
}

/* A line that was pushed out of a set. */
typedef struct MemVictim {
    MemTag tag; /* MEM_NO_TAG: the way was empty */
    bool dirty;
    bool prefetched;
} MemVictim;

/* Put an absent line with these marks in place of the next victim. */
static inline MemVictim mem_set_fill(const MemSets *a, MemPlace p, uint32_t marks, uint32_t *way) {
    MemSet *s = p.set;
    uint32_t w = (uint32_t)(s->order >> a->order_top) & 15;
    MemVictim victim = {
        .tag = s->tags[w],
        .dirty = (s->marks & MEM_DIRTY << w) != 0,
        .prefetched = (s->marks & MEM_PREFETCHED << w) != 0,
    };

    s->order = (s->order << 4 | w) & a->order_mask;
    s->tags[w] = p.tag;
    s->marks = (s->marks & ~(MEM_MARKS << w)) | marks << w;
    *way = w;
    return victim;
}

/* Empty the way, so that it is filled before any line is pushed out. */
void mem_set_drop(const MemSets *a, MemSet *s, uint32_t way);

static inline bool mem_sets_have(const MemSets *a, uint64_t line) {
    return mem_set_find(a, mem_place_of(a, line)) != MEM_NO_WAY;
}

#endif
