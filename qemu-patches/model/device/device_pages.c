/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pages between the device cache and flash: fetched, completed, prefetched, evicted, programmed. */
#include "device_internal.h"

static MemFrame *frame_at(const MemDevice *d, uint32_t frame) { return &d->cache.frames[frame]; }

static uint64_t page_of(const MemDevice *d, uint64_t line) { return line >> d->page_line_shift; }

static uint32_t line_in_page(const MemDevice *d, uint64_t line) {
    return (uint32_t)(line & ((UINT64_C(1) << d->page_line_shift) - 1));
}

/* ---- Masks of pages that were written and not fetched ---- */

static void make_whole(MemDevice *d, MemFrame *f) {
    mem_masks_free(&d->masks, f->mask);
    f->mask = MEM_NO_MASK;
}

static bool has_line(const MemDevice *d, const MemFrame *f, uint64_t line) {
    return f->mask == MEM_NO_MASK || mem_masks_line(&d->masks, f->mask, line_in_page(d, line)) == MEM_ALL_BYTES;
}

void mem_device_validate(MemDevice *d, uint32_t frame, uint64_t line, uint64_t bytes) {
    MemFrame *f = frame_at(d, frame);
    if (f->mask != MEM_NO_MASK && mem_masks_add(&d->masks, f->mask, line_in_page(d, line), bytes)) {
        make_whole(d, f);
    }
}

/* ---- Pages that cannot be read ---- */

static bool is_held(const MemDevice *d, uint32_t frame, uint64_t line) {
    return line == d->arriving_line || mem_log_bytes(&d->log, line) == MEM_ALL_BYTES ||
           (frame != MEM_NO_FRAME && has_line(d, &d->cache.frames[frame], line));
}

void mem_device_lose(MemDevice *d, MemCounters *count, uint64_t page, uint32_t frame) {
    const MemCallbacks *cb = &d->persist.callbacks;
    uint64_t line = page << d->page_line_shift;
    uint64_t end = line + (UINT64_C(1) << d->page_line_shift);

    while (line < end) {
        uint64_t first = line;
        while (line < end && !is_held(d, frame, line)) {
            line++;
        }
        count->lines_lost += line - first;
        if (line > first && cb->lines_lost) {
            cb->lines_lost(cb->opaque, d->persist.device, first * MEMSYS_LINE_BYTES,
                           (line - first) * MEMSYS_LINE_BYTES);
        }
        line++; /* held, or the end */
    }
}

MemFlashTimes mem_device_complete(MemDevice *d, MemCounters *count, uint64_t page, uint32_t frame, mem_ps at_ps) {
    MemFlashTimes t = mem_flash_read(&d->flash, count, page, at_ps);

    if (t.lost) {
        mem_device_lose(d, count, page, frame);
    }
    return t;
}

/* ---- Programs ---- */

void mem_device_programmed(MemDevice *d, uint64_t page, const MemFlashTimes *t) {
    mem_persist_programmed(&d->persist, page << d->page_line_shift, UINT64_C(1) << d->page_line_shift, t->start_ps,
                           t->end_ps);
}

/* Program the page in a frame. Bytes of it that were not fetched are read first. */
static MemFlashTimes program_page(MemDevice *d, MemCounters *count, MemFrame *f, mem_ps at_ps) {
    uint64_t page = mem_frame_page(f);

    if (f->mask != MEM_NO_MASK) {
        at_ps = mem_device_complete(d, count, page, (uint32_t)(f - d->cache.frames), at_ps).end_ps;
        f->filled_ps = mem_later(f->filled_ps, at_ps);
        make_whole(d, f);
        count->cache_completions++;
    }
    MemFlashTimes t = mem_flash_program(&d->flash, count, page, at_ps);
    mem_device_programmed(d, page, &t);
    return t;
}

/* The frame holds the write's times already, because mem_frame_accepted() came first. */
void mem_device_write_through(MemDevice *d, MemCounters *count, uint32_t frame, uint64_t line, mem_ps accepted_ps) {
    MemFrame *f = frame_at(d, frame);

    if (f->programmed && accepted_ps <= f->program_ps) {
        mem_persist_programmed(&d->persist, line, 1, f->program_ps, f->program_end_ps);
        count->cache_through_joins++;
        return;
    }
    MemFlashTimes t = program_page(d, count, f, accepted_ps);
    f->programmed = true;
    f->program_ps = t.start_ps;
    f->program_end_ps = t.end_ps;
    f->settled_ps = mem_later(f->settled_ps, t.start_ps); /* until then only this frame has its bytes */
    mem_device_cache_mark_clean(&d->cache, frame);
    count->cache_through_programs++;
}

/* ---- Frames ---- */

/* Program the page that leaves a frame at `at_ps`, if it is dirty; returns when the frame is free for new bytes. */
static mem_ps evict_page(MemDevice *d, MemCounters *count, uint32_t frame, mem_ps at_ps) {
    MemFrame *f = frame_at(d, frame);

    count->cache_prefetches_useless += f->prefetched;
    if (!f->dirty) {
        return at_ps;
    }
    count->cache_writebacks++;
    return program_page(d, count, f, at_ps).start_ps;
}

/* A frame for an absent page, and the times at which the previous page leaves the frame. */
typedef struct Place {
    uint32_t frame;
    mem_ps evicted_ps; /* all writes to the previous page have been accepted */
    mem_ps free_ps;    /* the previous page's program, if any, has taken the bytes */
} Place;

/*
 * A page leaves while some writes to it are not accepted yet. Later writes to it, in another frame, must be accepted
 * after these.
 */
static void note_early_eviction(MemDevice *d, uint64_t page, mem_ps settled_ps) {
    MemEarlyEviction *e = &d->early_evictions[page % MEM_EARLY_EVICTIONS];

    d->placed_until_ps = mem_later(d->placed_until_ps, settled_ps);
    *e = (MemEarlyEviction){.tag = page + 1, .settled_ps = settled_ps};
}

static mem_ps not_before(const MemDevice *d, uint64_t page, mem_ps ready_ps) {
    const MemEarlyEviction *e = &d->early_evictions[page % MEM_EARLY_EVICTIONS];
    return e->tag == page + 1 ? mem_later(ready_ps, e->settled_ps) : ready_ps;
}

/* `asked_ps`: when the request arrived; `at_ps`: when its turn comes. */
static Place make_place(MemDevice *d, MemCounters *count, uint64_t page, mem_ps asked_ps, mem_ps at_ps) {
    Place p = {.frame = mem_device_cache_victim(&d->cache, page)};
    mem_ps settled_ps = mem_frame_settled(&d->cache, frame_at(d, p.frame));

    p.evicted_ps = mem_later(at_ps, settled_ps);
    if (settled_ps > asked_ps) {
        note_early_eviction(d, mem_frame_page(frame_at(d, p.frame)), settled_ps);
    }
    p.free_ps = evict_page(d, count, p.frame, p.evicted_ps);
    mem_device_cache_replace(&d->cache, p.frame, page);
    return p;
}

/* ---- Fetches ---- */

/* Read a page, or the part that a frame lacks, for a request that arrives at `at_ps` and has an MSHR by `start_ps`. */
static MemFlashTimes read_page(MemDevice *d, MemCounters *count, uint64_t page, uint32_t frame, mem_ps at_ps,
                               mem_ps start_ps, MemDelays *why) {
    MemFlashTimes t = mem_device_complete(d, count, page, frame, start_ps);

    mem_slots_take(&d->mshrs, t.end_ps);
    why->queue_ps += start_ps - at_ps + t.queue_wait_ps;
    why->program_ps += t.program_wait_ps;
    why->gc_ps += t.gc_wait_ps;
    why->flash_ps += t.end_ps - start_ps - t.queue_wait_ps - t.program_wait_ps - t.gc_wait_ps;
    return t;
}

/*
 * A page that has lost lines becomes dirty, so that it is programmed elsewhere and a later read finds its other lines.
 */
static void relocate_if_lost(MemDevice *d, uint32_t frame, const MemFlashTimes *read) {
    if (read->lost) {
        mem_device_cache_mark_dirty(&d->cache, frame);
    }
}

static mem_ps mshr_ready(const MemDevice *d, mem_ps at_ps) { return mem_slots_ready(&d->mshrs, at_ps); }

/* Fetch an absent page; it is there when its frame is filled. */
static uint32_t fetch_page(MemDevice *d, MemCounters *count, uint64_t page, mem_ps at_ps, MemDelays *why) {
    Place p = make_place(d, count, page, at_ps, mshr_ready(d, at_ps));
    MemFrame *f = frame_at(d, p.frame);

    MemFlashTimes t = read_page(d, count, page, MEM_NO_FRAME, at_ps, p.evicted_ps, why);
    f->filled_ps = not_before(d, page, t.end_ps);
    f->settled_ps = f->filled_ps;
    why->queue_ps += f->filled_ps - t.end_ps;
    relocate_if_lost(d, p.frame, &t);
    return p.frame;
}

/* Read the rest of a page of which only a part is valid. */
static void complete_page(MemDevice *d, MemCounters *count, uint32_t frame, mem_ps at_ps, MemDelays *why) {
    MemFrame *f = frame_at(d, frame);
    mem_ps from_ps = mem_later(at_ps, mem_frame_filled(&d->cache, f));

    why->queue_ps += from_ps - at_ps;
    mem_frame_accepted(&d->cache, f, 0);
    MemFlashTimes t = read_page(d, count, mem_frame_page(f), frame, from_ps, mshr_ready(d, from_ps), why);
    f->filled_ps = t.end_ps;
    relocate_if_lost(d, frame, &t);
    f->settled_ps = mem_later(f->settled_ps, f->filled_ps);
    make_whole(d, f);
}

/* Take a frame for a page of which only the written bytes will be valid; MEM_NO_FRAME if no mask is left. */
static uint32_t place_unfetched(MemDevice *d, MemCounters *count, uint64_t page, mem_ps at_ps) {
    uint32_t mask = mem_masks_take(&d->masks);
    if (mask == MEM_NO_MASK) {
        return MEM_NO_FRAME;
    }
    Place p = make_place(d, count, page, at_ps, at_ps);
    MemFrame *f = frame_at(d, p.frame);

    d->placed_until_ps = mem_later(d->placed_until_ps, p.free_ps);
    f->mask = mask;
    f->filled_ps = d->placed_until_ps;
    f->settled_ps = d->placed_until_ps;
    count->cache_unfetched++;
    return p.frame;
}

/* ---- Look-ups ---- */

bool mem_device_page_used(MemDevice *d, MemCounters *count, uint32_t frame) {
    MemFrame *f = frame_at(d, frame);
    bool first = f->prefetched;

    mem_device_cache_hit(&d->cache, frame);
    f->prefetched = false;
    count->cache_prefetches_useful += first;
    return first;
}

static MemLookUp hit_page(MemDevice *d, MemCounters *count, uint32_t frame, mem_ps at_ps, MemDelays *why) {
    mem_ps filled_ps = mem_frame_filled(&d->cache, frame_at(d, frame));
    MemLookUp l = {.frame = frame, .ready_ps = at_ps, .hit = true};

    count->cache_hits++;
    if (filled_ps > at_ps) {
        count->cache_merges++;
        why->flash_ps += filled_ps - at_ps;
        l.ready_ps = filled_ps;
    }
    l.teaches = mem_device_page_used(d, count, frame);
    return l;
}

static MemLookUp missed_page(const MemDevice *d, MemCounters *count, uint32_t frame) {
    count->cache_misses++;
    return (MemLookUp){.frame = frame, .ready_ps = frame_at(d, frame)->filled_ps, .teaches = true};
}

MemLookUp mem_device_look_up_read(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps, MemDelays *why) {
    uint32_t frame = mem_device_cache_find(&d->cache, page_of(d, line));

    if (frame != MEM_NO_FRAME && has_line(d, frame_at(d, frame), line)) {
        return hit_page(d, count, frame, at_ps, why);
    }
    if (frame != MEM_NO_FRAME) {
        complete_page(d, count, frame, at_ps, why);
        mem_device_page_used(d, count, frame);
    } else if (mem_log_bytes(&d->log, line) == MEM_ALL_BYTES) {
        count->cache_hits++;
        count->log_hits++;
        return (MemLookUp){.frame = frame, .ready_ps = at_ps, .hit = true};
    } else {
        frame = fetch_page(d, count, page_of(d, line), at_ps, why);
    }
    return missed_page(d, count, frame);
}

MemLookUp mem_device_look_up_write(MemDevice *d, MemCounters *count, uint64_t line, uint64_t bytes, mem_ps at_ps,
                                   MemDelays *why) {
    uint64_t page = page_of(d, line);
    uint32_t frame = mem_device_cache_find(&d->cache, page);
    MemLookUp l;

    if (frame != MEM_NO_FRAME) {
        l = hit_page(d, count, frame, at_ps, why);
    } else {
        frame =
            d->config.cache_write_miss == MEM_WRITE_NO_FETCH ? place_unfetched(d, count, page, at_ps) : MEM_NO_FRAME;
        l = missed_page(d, count, frame != MEM_NO_FRAME ? frame : fetch_page(d, count, page, at_ps, why));
    }
    mem_device_validate(d, l.frame, line, bytes);
    mem_log_drop(&d->log, line, bytes);
    return l;
}

/* ---- Prefetches ---- */

void mem_device_prefetch(MemDevice *d, MemCounters *count, uint64_t page, mem_ps at_ps) {
    int64_t step = mem_prefetch_step(&d->prefetcher, (MemPagePrefetch)d->config.cache_prefetch, page);
    uint64_t page_count = d->line_count >> d->page_line_shift;
    MemDelays nobodys = {0};

    for (uint32_t i = 0; step && i < d->config.cache_prefetch_pages; i++) {
        page += (uint64_t)step;
        if (page >= page_count || mshr_ready(d, at_ps) > at_ps) {
            return;
        }
        if (mem_device_cache_find(&d->cache, page) == MEM_NO_FRAME) {
            frame_at(d, fetch_page(d, count, page, at_ps, &nobodys))->prefetched = true;
            count->cache_prefetches++;
        }
    }
}
