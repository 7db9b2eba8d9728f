/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The times at which the write log takes lines and compacts its pages. */
#include "device_internal.h"

/*
 * Program one page with the bytes that the log holds of it. Unless the full half or
 * the cache holds the whole page, the page is read first.
 */
static void compact_page(MemDevice *d, MemCounters *count) {
    MemLogTimes *times = &d->log_times;
    MemLogCompaction c = mem_log_compact_next(&d->log);
    if (!c.dirty) {
        return;
    }
    mem_ps at_ps = mem_later(mem_slots_ready(&times->lanes, times->from_ps), c.accepted_ps);
    uint32_t frame = mem_device_cache_find(&d->cache, c.page);

    if (frame != MEM_NO_FRAME && d->cache.frames[frame].mask == MEM_NO_MASK) {
        at_ps = mem_later(at_ps, mem_frame_filled(&d->cache, &d->cache.frames[frame]));
    } else if (!c.whole) {
        at_ps = mem_device_complete(d, count, c.page, frame, at_ps).end_ps;
        count->cache_completions++;
    }
    MemFlashTimes t = mem_flash_program(&d->flash, count, c.page, at_ps);
    mem_device_programmed(d, c.page, &t);
    mem_slots_take(&times->lanes, t.end_ps);
    times->done_ps = mem_later(times->done_ps, t.end_ps);
    count->log_compactions++;
}

/* Exchange the halves at `at_ps`: the filling half is full, or will not be filled further, and the other is empty. */
static void turn_log(MemDevice *d, mem_ps at_ps) {
    mem_log_turn(&d->log);
    mem_slots_clear(&d->log_times.lanes);
    d->log_times.from_ps = at_ps;
    d->log_times.done_ps = at_ps;
    d->log_times.open_from_ps = at_ps;
}

void mem_device_run_log(MemDevice *d, MemCounters *count, mem_ps now_ps) {
    const MemLogTimes *times = &d->log_times;

    while (mem_device_log_is_busy(d)) {
        if (mem_log_is_compacting(&d->log)) {
            if (mem_slots_ready(&times->lanes, times->from_ps) > now_ps) {
                return;
            }
            compact_page(d, count);
        } else if (times->done_ps > now_ps) {
            return;
        } else {
            turn_log(d, now_ps); /* lines left after a change of the write-miss rule */
        }
    }
}

/* Make room in the log for a write that arrives at `at_ps`; returns when the log has room. */
static mem_ps make_room(MemDevice *d, MemCounters *count, mem_ps at_ps) {
    while (mem_log_is_compacting(&d->log)) {
        compact_page(d, count);
    }
    mem_ps ready_ps = mem_later(at_ps, d->log_times.done_ps);
    count->log_wait_ps += ready_ps - at_ps;
    turn_log(d, ready_ps);
    mem_device_run_log(d, count, ready_ps);
    return ready_ps;
}

MemLookUp mem_device_log_write(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps) {
    MemLookUp l = {.frame = mem_device_cache_find(&d->cache, line >> d->page_line_shift)};

    l.hit = l.frame != MEM_NO_FRAME || mem_log_bytes(&d->log, line) != 0;
    if (l.frame != MEM_NO_FRAME) {
        l.teaches = mem_device_page_used(d, count, l.frame);
    }
    *(l.hit ? &count->cache_hits : &count->cache_misses) += 1;
    count->cache_unfetched += !l.hit;
    count->log_writes++;
    l.ready_ps = mem_later(at_ps, d->log_times.open_from_ps);
    if (!mem_log_has_room(&d->log, line)) {
        l.ready_ps = make_room(d, count, l.ready_ps);
    }
    return l;
}

void mem_device_logged(MemDevice *d, uint32_t frame, uint64_t line, uint64_t bytes, mem_ps accepted_ps) {
    mem_log_append(&d->log, line, bytes, accepted_ps);
    if (frame != MEM_NO_FRAME) { /* the cached page is updated as well */
        mem_frame_accepted(&d->cache, &d->cache.frames[frame], accepted_ps);
        mem_device_validate(d, frame, line, bytes);
    }
}
