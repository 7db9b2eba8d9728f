/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "write_log.h"

#include <assert.h>
#include <stdlib.h>

#include "../base/mem_alloc.h"
#include "../base/mem_hash.h"

#define NO_PLACE UINT32_MAX

/* ---- Keys ---- */

static void keys_init(MemKeys *k, uint32_t room) {
    k->bucket_shift = mem_hash_shift(room);
    k->keys = mem_calloc(room, sizeof(*k->keys));
    k->hash_next = mem_calloc(room, sizeof(*k->hash_next));
    k->buckets = mem_calloc((size_t)1 << (64 - k->bucket_shift), sizeof(*k->buckets));
}

static void keys_destroy(MemKeys *k) {
    free(k->keys);
    free(k->hash_next);
    free(k->buckets);
}

/* Clears key by key, since a half is large and may hold few keys. */
static void keys_clear(MemKeys *k) {
    for (uint32_t i = 0; i < k->count; i++) {
        k->buckets[mem_hash(k->keys[i], k->bucket_shift)] = 0;
    }
    k->count = 0;
}

static uint32_t keys_find(const MemKeys *k, uint64_t key) {
    uint32_t place = k->buckets[mem_hash(key, k->bucket_shift)];
    while (place && k->keys[place - 1] != key) {
        place = k->hash_next[place - 1];
    }
    return place - 1; /* 0 gives NO_PLACE */
}

static uint32_t keys_add(MemKeys *k, uint64_t key) {
    uint32_t *bucket = &k->buckets[mem_hash(key, k->bucket_shift)];
    uint32_t place = k->count++;

    k->keys[place] = key;
    k->hash_next[place] = *bucket;
    *bucket = place + 1;
    return place;
}

/* ---- Halves ---- */

static void half_init(MemLogHalf *h, uint32_t room) {
    keys_init(&h->line_keys, room);
    keys_init(&h->page_keys, room);
    h->lines = mem_calloc(room, sizeof(*h->lines));
    h->pages = mem_calloc(room, sizeof(*h->pages));
}

static void half_destroy(MemLogHalf *h) {
    keys_destroy(&h->line_keys);
    keys_destroy(&h->page_keys);
    free(h->lines);
    free(h->pages);
}

static void half_clear(MemLogHalf *h) {
    keys_clear(&h->line_keys);
    keys_clear(&h->page_keys);
}

static bool is_dirty(const MemLogHalf *h, const MemLogLine *l) {
    return l->bytes && l->generation == h->pages[l->page].generation;
}

static MemLogLine *half_find(const MemLogHalf *h, uint64_t line) {
    uint32_t place = keys_find(&h->line_keys, line);
    return place == NO_PLACE ? NULL : &h->lines[place];
}

static MemLogLine *half_add(MemLogHalf *h, uint64_t line, uint64_t page) {
    uint32_t page_place = keys_find(&h->page_keys, page);

    if (page_place == NO_PLACE) {
        page_place = keys_add(&h->page_keys, page);
        h->pages[page_place] = (MemLogPage){.generation = 1};
    }
    MemLogLine *l = &h->lines[keys_add(&h->line_keys, line)];
    *l = (MemLogLine){.page = page_place};
    return l;
}

/* Make all lines of a page clean; returns how many were dirty. */
static uint32_t half_clean(MemLogHalf *h, uint64_t page, mem_ps *accepted_ps) {
    uint32_t place = keys_find(&h->page_keys, page);
    if (place == NO_PLACE) {
        return 0;
    }
    MemLogPage *p = &h->pages[place];
    uint32_t cleaned = p->dirty_lines;

    *accepted_ps = p->accepted_ps > *accepted_ps ? p->accepted_ps : *accepted_ps;
    p->dirty_lines = 0;
    p->generation++;
    return cleaned;
}

/* ---- The log ---- */

void mem_log_init(MemWriteLog *l, uint64_t size_bytes, unsigned page_line_shift) {
    *l = (MemWriteLog){.room = (uint32_t)(size_bytes / 2 / MEMSYS_LINE_BYTES), .page_line_shift = page_line_shift};
    for (int half = 0; l->room && half < 2; half++) {
        half_init(&l->halves[half], l->room);
    }
}

void mem_log_destroy(MemWriteLog *l) {
    half_destroy(&l->halves[0]);
    half_destroy(&l->halves[1]);
}

uint64_t mem_log_bytes(const MemWriteLog *l, uint64_t line) {
    uint64_t bytes = 0;

    for (int half = 0; l->room && half < 2; half++) {
        const MemLogLine *found = half_find(&l->halves[half], line);
        bytes |= found ? found->bytes : 0;
    }
    return bytes;
}

bool mem_log_has_room(const MemWriteLog *l, uint64_t line) {
    const MemLogHalf *h = &l->halves[l->filling];
    return h->line_keys.count < l->room || half_find(h, line);
}

void mem_log_append(MemWriteLog *l, uint64_t line, uint64_t bytes, mem_ps accepted_ps) {
    MemLogHalf *h = &l->halves[l->filling];
    MemLogLine *found = half_find(h, line);
    MemLogLine *e = found ? found : half_add(h, line, line >> l->page_line_shift);
    MemLogPage *p = &h->pages[e->page];
    bool was_dirty = is_dirty(h, e);
    bool was_whole = e->bytes == UINT64_MAX;

    e->bytes |= bytes;
    e->generation = p->generation;
    p->dirty_lines += !was_dirty;
    l->lines_dirtied += !was_dirty;
    p->whole_lines += !was_whole && e->bytes == UINT64_MAX;
    p->accepted_ps = accepted_ps > p->accepted_ps ? accepted_ps : p->accepted_ps;
}

static void half_drop(MemWriteLog *l, MemLogHalf *h, uint64_t line, uint64_t bytes) {
    MemLogLine *e = half_find(h, line);
    if (!e) {
        return;
    }
    MemLogPage *p = &h->pages[e->page];
    bool was_dirty = is_dirty(h, e);
    bool was_whole = e->bytes == UINT64_MAX;

    e->bytes &= ~bytes;
    p->whole_lines -= was_whole && e->bytes != UINT64_MAX;
    if (was_dirty && !e->bytes) {
        p->dirty_lines--;
        l->lines_cleaned++;
    }
}

void mem_log_drop(MemWriteLog *l, uint64_t line, uint64_t bytes) {
    for (int half = 0; l->room && half < 2; half++) {
        half_drop(l, &l->halves[half], line, bytes);
    }
}

void mem_log_turn(MemWriteLog *l) {
    assert(!mem_log_is_compacting(l));
    l->filling = 1 - l->filling;
    half_clear(&l->halves[l->filling]);
    l->next_page = 0;
}

MemLogCompaction mem_log_compact_next(MemWriteLog *l) {
    MemLogHalf *h = &l->halves[1 - l->filling];
    uint32_t place = l->next_page++;
    MemLogCompaction c = {.page = h->page_keys.keys[place], .dirty = h->pages[place].dirty_lines != 0};

    if (c.dirty) {
        c.whole = h->pages[place].whole_lines == 1u << l->page_line_shift;
        l->lines_cleaned += half_clean(h, c.page, &c.accepted_ps);
        l->lines_cleaned += half_clean(&l->halves[l->filling], c.page, &c.accepted_ps);
    }
    return c;
}

void mem_log_clear(MemWriteLog *l) {
    half_clear(&l->halves[0]);
    half_clear(&l->halves[1]);
    l->next_page = 0;
    l->lines_cleaned = l->lines_dirtied;
}

/* The dirty lines of a half, or UINT64_MAX if the counts of its pages are wrong. */
static uint64_t count_dirty(const MemLogHalf *h) {
    uint64_t by_line = 0;
    uint64_t by_page = 0;

    for (uint32_t i = 0; i < h->line_keys.count; i++) {
        by_line += is_dirty(h, &h->lines[i]);
    }
    for (uint32_t i = 0; i < h->page_keys.count; i++) {
        by_page += h->pages[i].dirty_lines;
    }
    return by_line == by_page ? by_line : UINT64_MAX;
}

const char *mem_log_check(const MemWriteLog *l) {
    uint64_t filling = count_dirty(&l->halves[l->filling]);
    uint64_t full = count_dirty(&l->halves[1 - l->filling]);

    if (filling == UINT64_MAX || full == UINT64_MAX) {
        return "the dirty lines of the write log's pages are counted right";
    }
    return filling + full + l->lines_cleaned == l->lines_dirtied ? NULL : "logged lines dirtied = cleaned + dirty";
}
