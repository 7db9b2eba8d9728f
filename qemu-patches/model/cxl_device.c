/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cxl_device.h"

#include <assert.h>

/* Every queue is empty; a change of mode and a power cycle both need this. */
static void reset_queues(MemDevice *d, bool timed) {
    d->timed = timed;
    d->accepted_until_ps = 0;
    d->active = timed ? d->configured : (MemDeviceTiming){0};
    mem_calendar_clear(&d->controller);
    mem_calendar_clear(&d->dram);
    mem_link_set_timed(&d->link, timed);
    mem_flash_set_timed(&d->flash, timed);
}

/* A read suspended a program: its bytes are durable later than was said. */
static void program_moved(void *opaque, const MemProgramMove *move) {
    MemDevice *d = opaque;
    uint64_t lines = UINT64_C(1) << d->page_line_shift;

    mem_persist_program_moved(&d->persist, move->page << d->page_line_shift, lines, move->old_end_ps, move->start_ps,
                              move->end_ps);
}

void mem_device_init(MemDevice *d, uint32_t number, const MemDeviceConfig *config, const MemMedia *media,
                     const MemCallbacks *cb) {
    d->configured = (MemDeviceTiming){
        .controller_ps = config->controller_latency_ps,
        .interval_ps = config->controller_interval_ps,
        .cache_ps = config->cache_latency_ps,
        .line_ps = config->cache_bandwidth ? mem_line_transfer_ps(config->cache_bandwidth) : 0,
    };
    d->line_count = config->capacity_bytes / MEMSYS_LINE_BYTES;
    d->page_line_shift = 0;
    while ((MEMSYS_LINE_BYTES << d->page_line_shift) < config->cache_page_bytes) {
        d->page_line_shift++;
    }
    d->cache_protected = config->cache_power_loss_protected;
    mem_link_init(&d->link, config);
    mem_device_cache_init(&d->cache, config);
    mem_flash_init(&d->flash, config);
    mem_flash_listen(&d->flash, &(MemMoveListener){program_moved, d});
    mem_persist_init(&d->persist, number, config, media, cb);
    reset_queues(d, false);
}

void mem_device_destroy(MemDevice *d) {
    mem_device_cache_destroy(&d->cache);
    mem_flash_destroy(&d->flash);
    mem_persist_destroy(&d->persist);
}

void mem_device_set_timed(MemDevice *d, bool timed, mem_ps now_ps) {
    if (!timed) {
        mem_persist_settle(&d->persist, now_ps);
        mem_device_cache_settle(&d->cache);
    }
    reset_queues(d, timed);
}

/* Program a dirty victim; the CPU does not wait, but the page's channel is taken. */
static void write_back_page(MemDevice *d, MemCounters *count, uint64_t page, mem_ps at_ps) {
    MemFlashTimes t = mem_flash_program(&d->flash, count, page, at_ps);
    uint64_t lines = UINT64_C(1) << d->page_line_shift;

    mem_persist_programmed(&d->persist, page << d->page_line_shift, lines, t.start_ps, t.end_ps);
    count->cache_writebacks++;
}

/* Bring an absent page in from flash; returns its frame, which is filled later. */
static uint32_t fetch_page(MemDevice *d, MemCounters *count, uint64_t page, mem_ps at_ps) {
    uint32_t frame = mem_device_cache_victim(&d->cache, page);
    MemFrame *f = &d->cache.frames[frame];

    at_ps = mem_later(at_ps, mem_frame_settled(&d->cache, f));
    if (f->dirty) {
        write_back_page(d, count, mem_frame_page(f), at_ps);
    }
    mem_device_cache_replace(&d->cache, frame, page);
    f->filled_ps = mem_flash_read(&d->flash, count, page, at_ps).end_ps;
    f->settled_ps = f->filled_ps;
    return frame;
}

/* The frame of a line's page, fetched if it must be. */
static MemFrame *look_up(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps, bool *hit) {
    uint64_t page = line >> d->page_line_shift;
    uint32_t frame = mem_device_cache_find(&d->cache, page);

    *hit = frame != MEM_NO_FRAME;
    if (*hit) {
        count->cache_hits++;
        mem_device_cache_hit(&d->cache, frame);
    } else {
        count->cache_misses++;
        frame = fetch_page(d, count, page, at_ps);
    }
    return &d->cache.frames[frame];
}

/* A request that arrives at `at_ps` passes the controller and the look-up; returns when it has. */
static mem_ps start_request(MemDevice *d, mem_ps at_ps, MemDelays *why) {
    mem_ps start_ps = mem_calendar_reserve(&d->controller, at_ps, d->active.interval_ps);

    why->queue_ps += start_ps - at_ps;
    why->cache_ps += d->active.controller_ps + d->active.cache_ps;
    return start_ps + d->active.controller_ps + d->active.cache_ps;
}

/* A line passes the device DRAM from `at_ps` on; returns when it has. */
static mem_ps move_line(MemDevice *d, mem_ps at_ps, MemDelays *why) {
    mem_ps start_ps = mem_calendar_reserve(&d->dram, at_ps, d->active.line_ps);

    why->queue_ps += start_ps - at_ps;
    why->cache_ps += d->active.line_ps;
    return start_ps + d->active.line_ps;
}

MemReadTimes mem_device_read(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps) {
    MemReadTimes t = {0};
    mem_ps looked_up_ps = start_request(d, mem_link_request(&d->link, at_ps, &t.why), &t.why);
    const MemFrame *f = look_up(d, count, line, looked_up_ps, &t.hit);
    mem_ps there_ps = mem_later(looked_up_ps, mem_frame_filled(&d->cache, f));

    t.why.flash_ps += there_ps - looked_up_ps;
    t.done_ps = mem_link_read_data(&d->link, move_line(d, there_ps, &t.why), &t.why);
    count->cxl_reads++;
    count->link_read_bytes += MEMSYS_LINE_BYTES;
    assert(mem_delays_sum(&t.why) == t.done_ps - at_ps);
    return t;
}

MemWriteTimes mem_device_write(MemDevice *d, MemCounters *count, uint64_t line, uint64_t byte_mask, mem_ps at_ps) {
    MemDelays why = {0}; /* nobody asks for those of a write */
    MemWriteTimes t = {.left_ps = mem_link_write_data(&d->link, at_ps)};
    mem_ps looked_up_ps = start_request(d, mem_link_arrival(&d->link, t.left_ps), &why);
    bool hit;
    MemFrame *f = look_up(d, count, line, looked_up_ps, &hit);

    assert(byte_mask);
    (void)byte_mask;
    t.accepted_ps = move_line(d, mem_later(looked_up_ps, mem_frame_filled(&d->cache, f)), &why);
    t.completed_ps = mem_link_completion(&d->link, t.accepted_ps);
    mem_frame_accepted(&d->cache, f, t.accepted_ps);
    mem_device_cache_mark_dirty(&d->cache, (uint32_t)(f - d->cache.frames));
    mem_link_accepted(&d->link, t.accepted_ps);
    d->accepted_until_ps = mem_later(d->accepted_until_ps, t.accepted_ps);
    mem_persist_written_back(&d->persist, line, at_ps, t.accepted_ps);
    count->cxl_writes++;
    count->link_write_bytes += MEMSYS_LINE_BYTES;
    return t;
}

mem_ps mem_device_barrier(MemDevice *d, mem_ps at_ps) {
    mem_persist_barrier(&d->persist, at_ps);
    return mem_later(at_ps, d->accepted_until_ps) + d->persist.wbarrier_ps;
}

MemPowerCut mem_device_power_cut(MemDevice *d, mem_ps now_ps) {
    MemPowerCut outcome = mem_persist_power_cut(&d->persist, now_ps);

    if (d->cache_protected) {
        mem_device_cache_settle(&d->cache);
    } else {
        mem_device_cache_clear(&d->cache);
    }
    reset_queues(d, d->timed);
    return outcome;
}

void mem_device_power_off(MemDevice *d, mem_ps now_ps) {
    mem_persist_power_off(&d->persist, now_ps);
    mem_device_cache_clean(&d->cache);
    mem_device_cache_settle(&d->cache);
    reset_queues(d, d->timed);
}
