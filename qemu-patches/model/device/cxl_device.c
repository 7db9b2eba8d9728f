/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of a request through the device. */
#include "cxl_device.h"

#include <assert.h>
#include <string.h>

#include "../base/mem_hash.h"
#include "device_internal.h"

MemDeviceTiming mem_device_timing(const MemDeviceConfig *c) {
    return (MemDeviceTiming){
        .controller_ps = c->controller_latency_ps,
        .interval_ps = c->controller_interval_ps,
        .tag_ps = c->cache_tag_ps,
        .cache_ps = c->cache_latency_ps,
        .refresh_ps = c->cache_refresh_ps,
        .line_ps = c->cache_bandwidth ? mem_line_transfer_ps(c->cache_bandwidth) : 0,
    };
}

/* ---- Creation and modes ---- */

/* Empty every queue, for a change of mode or a power cycle. */
static void reset_queues(MemDevice *d, bool timed) {
    d->timed = timed;
    d->active = timed ? mem_device_timing(&d->config) : (MemDeviceTiming){0};
    d->sent_until_ps = 0;
    d->accepted_until_ps = 0;
    d->in_dram_until_ps = 0;
    d->in_dram_from_ps = 0;
    d->placed_until_ps = 0;
    memset(d->early_evictions, 0, sizeof(d->early_evictions));
    mem_slots_clear(&d->write_queue);
    mem_calendar_clear(&d->controller);
    mem_calendar_clear(&d->dram);
    mem_link_set_timed(&d->link, timed);
    if (d->has_flash) {
        mem_flash_set_timed(&d->flash, timed);
        mem_slots_clear(&d->mshrs);
        mem_slots_clear(&d->log_times.lanes);
        d->log_times = (MemLogTimes){.lanes = d->log_times.lanes};
    }
}

/* A read overtook or suspended a program, which now ends later than reported. */
static void program_moved(void *opaque, const MemProgramMove *move) {
    MemDevice *d = opaque;
    uint64_t lines = UINT64_C(1) << d->page_line_shift;
    uint32_t frame = mem_device_cache_find(&d->cache, move->page);

    if (frame != MEM_NO_FRAME && d->cache.frames[frame].program_end_ps == move->old_end_ps) {
        d->cache.frames[frame].program_ps = move->start_ps;
        d->cache.frames[frame].program_end_ps = move->end_ps;
    }
    mem_persist_program_moved(&d->persist, move->page << d->page_line_shift, lines, move->old_end_ps, move->start_ps,
                              move->end_ps);
}

static MemCounters *counters_now(MemDevice *d) { return d->timed ? &d->counters : &d->ignored; }

/* Garbage collection cannot read a page: the lines that neither the cache nor the log holds are lost. */
static void page_lost(void *opaque, uint64_t page) {
    MemDevice *d = opaque;

    mem_device_lose(d, counters_now(d), page, mem_device_cache_find(&d->cache, page));
}

/* Program a page while power goes off. This takes no time here, but wears the flash. */
static void program_untimed(void *opaque, uint64_t page) {
    MemDevice *d = opaque;

    if (d->flash.ftl) {
        mem_ftl_program(d->flash.ftl, page);
    }
}

static void init_cache(MemDevice *d) {
    const MemDeviceConfig *c = &d->config;

    d->page_line_shift = mem_page_line_shift(c);
    mem_device_cache_init(&d->cache, c);
    mem_masks_init(&d->masks, 1u << d->page_line_shift);
    mem_slots_init(&d->mshrs, c->cache_mshrs);
    mem_log_init(&d->log, c->write_log_bytes, d->page_line_shift);
    mem_slots_init(&d->log_times.lanes, c->flash_channels);
    mem_flash_init(&d->flash, c);
    mem_flash_listen(&d->flash, &(MemMoveListener){program_moved, d});
    mem_flash_listen_to_losses(&d->flash, &(MemPageLost){page_lost, d});
    mem_persist_listen(&d->persist, &(MemPageSaved){program_untimed, d});
}

void mem_device_init(MemDevice *d, uint32_t number, const MemDeviceConfig *config, const MemMedia *media,
                     const MemCallbacks *cb, MemPowerSupply *supply) {
    memset(d, 0, sizeof(*d));
    d->config = *config;
    d->line_count = config->capacity_bytes / MEMSYS_LINE_BYTES;
    d->has_flash = config->flash_channels != 0;
    d->arriving_line = MEM_NO_LINE;
    mem_link_init(&d->link, config);
    mem_slots_init(&d->write_queue, config->write_queue);
    mem_persist_init(&d->persist, number, config, media, cb, supply);
    if (d->has_flash) {
        init_cache(d);
    }
    if (config->hot_pages) {
        mem_hotness_init(&d->hotness, config->capacity_bytes);
    }
    reset_queues(d, false);
}

void mem_device_destroy(MemDevice *d) {
    mem_slots_destroy(&d->write_queue);
    mem_device_cache_destroy(&d->cache);
    mem_masks_destroy(&d->masks);
    mem_slots_destroy(&d->mshrs);
    mem_log_destroy(&d->log);
    mem_slots_destroy(&d->log_times.lanes);
    if (d->has_flash) {
        mem_flash_destroy(&d->flash);
    }
    mem_persist_destroy(&d->persist);
    mem_hotness_destroy(&d->hotness);
}

/* The log is compacted as time passes, but the work is done when a request arrives. */
static void run_log(MemDevice *d, mem_ps now_ps) {
    if (d->has_flash && mem_device_log_is_busy(d)) {
        mem_device_run_log(d, counters_now(d), now_ps);
    }
}

void mem_device_set_timed(MemDevice *d, bool timed, mem_ps now_ps) {
    if (!timed) {
        run_log(d, now_ps);
        mem_persist_settle(&d->persist, now_ps);
        mem_device_cache_settle(&d->cache);
    }
    reset_queues(d, timed);
}

/* ---- Requests ---- */

/*
 * For how long, from `at_ps` on, the group of banks that holds `address` is still being refreshed. Groups take turns,
 * evenly over the interval, and neighbouring addresses are in arbitrary groups: with one group, a pointer chase would
 * fall into step with the refreshes.
 */
static mem_ps refresh_wait(const MemDevice *d, uint64_t address, mem_ps at_ps) {
    const MemDeviceConfig *c = &d->config;
    uint64_t group = mem_hash_mix(address) % c->cache_refresh_groups;
    mem_ps turn_ps = group * (c->cache_refresh_interval_ps / c->cache_refresh_groups);
    mem_ps since_ps = (at_ps + c->cache_refresh_interval_ps - turn_ps) % c->cache_refresh_interval_ps;

    return since_ps < c->cache_refresh_ps ? c->cache_refresh_ps - since_ps : 0;
}

/* Access the device DRAM; returns when the access is done. */
static mem_ps access_dram(const MemDevice *d, uint64_t address, mem_ps at_ps, mem_ps access_ps, MemDelays *why) {
    mem_ps wait_ps = d->active.refresh_ps ? refresh_wait(d, address, at_ps) : 0;

    why->queue_ps += wait_ps;
    why->cache_ps += access_ps;
    return at_ps + wait_ps + access_ps;
}

/* Pass a request that arrives at `at_ps` through the controller and the look-up; returns when it is through. */
static mem_ps start_request(MemDevice *d, uint64_t line, mem_ps at_ps, MemDelays *why) {
    mem_ps start_ps = mem_calendar_reserve(&d->controller, at_ps, d->active.interval_ps);

    why->queue_ps += start_ps - at_ps;
    why->cache_ps += d->active.controller_ps;
    at_ps = start_ps + d->active.controller_ps;
    if (d->active.tag_ps) {
        at_ps = access_dram(d, ~(line >> d->page_line_shift), at_ps, d->active.tag_ps, why); /* tags lie apart */
    }
    return access_dram(d, line, at_ps, d->active.cache_ps, why);
}

/* Move a line through the device DRAM from `at_ps` on; returns when it is through. */
static mem_ps move_line(MemDevice *d, mem_ps at_ps, MemDelays *why) {
    mem_ps start_ps = mem_calendar_reserve(&d->dram, at_ps, d->active.line_ps);

    why->queue_ps += start_ps - at_ps;
    why->cache_ps += d->active.line_ps;
    return start_ps + d->active.line_ps;
}

/* A memory expander holds every line. */
static MemLookUp expander_line(MemCounters *count, mem_ps at_ps) {
    count->cache_hits++;
    return (MemLookUp){.frame = MEM_NO_FRAME, .ready_ps = at_ps, .hit = true};
}

static MemLookUp look_up_read(MemDevice *d, MemCounters *count, uint64_t line, mem_ps at_ps, MemDelays *why) {
    if (!d->has_flash) {
        return expander_line(count, at_ps);
    }
    run_log(d, at_ps);
    return mem_device_look_up_read(d, count, line, at_ps, why);
}

MemReadTimes mem_device_read(MemDevice *d, uint64_t line, mem_ps at_ps) {
    MemCounters *count = counters_now(d);
    MemReadTimes t = {0};
    mem_ps looked_up_ps = start_request(d, line, mem_link_request(&d->link, at_ps, &t.why), &t.why);
    MemLookUp l = look_up_read(d, count, line, looked_up_ps, &t.why);

    t.hit = l.hit;
    t.done_ps = mem_link_read_data(&d->link, move_line(d, l.ready_ps, &t.why), &t.why);
    if (l.teaches) {
        mem_device_prefetch(d, count, line >> d->page_line_shift, looked_up_ps);
    }
    count->cxl_reads++;
    mem_hotness_count(&d->hotness, line, false);
    count->link_read_bytes += MEMSYS_LINE_BYTES;
    assert(t.hit || mem_delays_sum(&t.why) == t.done_ps - at_ps); /* hits are the hot path: tests check them */
    return t;
}

static MemLookUp look_up_write(MemDevice *d, MemCounters *count, uint64_t line, uint64_t bytes, mem_ps at_ps,
                               MemDelays *why) {
    if (!d->has_flash) {
        return expander_line(count, at_ps);
    }
    run_log(d, at_ps);
    d->arriving_line = bytes == MEM_ALL_BYTES ? line : MEM_NO_LINE;
    MemLookUp l = mem_device_logs(d) ? mem_device_log_write(d, count, line, at_ps)
                                     : mem_device_look_up_write(d, count, line, bytes, at_ps, why);
    d->arriving_line = MEM_NO_LINE;
    return l;
}

/* Put an accepted write into the log or the cache. */
static void written(MemDevice *d, MemCounters *count, const MemLookUp *l, uint64_t line, uint64_t bytes,
                    mem_ps accepted_ps) {
    if (!d->has_flash) {
        return;
    }
    if (mem_device_logs(d)) {
        mem_device_logged(d, l->frame, line, bytes, accepted_ps);
        return;
    }
    mem_frame_accepted(&d->cache, &d->cache.frames[l->frame], accepted_ps);
    if (d->config.cache_write == MEM_WRITE_THROUGH) {
        mem_device_write_through(d, count, l->frame, line, accepted_ps);
    } else {
        mem_device_cache_mark_dirty(&d->cache, l->frame);
    }
}

/*
 * The device has a line in DRAM at `in_dram_ps` that the host, or its write queue, sent at `sent_ps`. The write queue
 * has accepted the line one latency after it was sent, and the host knows after the latency of the answer.
 */
static void accept_write(MemDevice *d, MemWriteTimes *t, mem_ps sent_ps, mem_ps in_dram_ps) {
    if (d->config.write_queue) {
        mem_slots_take(&d->write_queue, in_dram_ps);
        /* Not before lines sent earlier, even if the latency has become shorter since. */
        t->accepted_ps = mem_later(mem_link_arrival(&d->link, sent_ps), d->accepted_until_ps);
        t->completed_ps = mem_link_arrival(&d->link, t->accepted_ps);
        t->taken_ps = t->completed_ps;
    } else {
        t->accepted_ps = in_dram_ps;
        t->completed_ps = mem_link_completion(&d->link, in_dram_ps);
    }
    d->accepted_until_ps = mem_later(d->accepted_until_ps, t->accepted_ps);
    d->in_dram_until_ps = mem_later(d->in_dram_until_ps, in_dram_ps);
    mem_link_accepted(&d->link, in_dram_ps);
}

/* When a line that is at the link, or at the write queue, at `at_ps` is sent on. It does not overtake earlier lines. */
static mem_ps send_write(MemDevice *d, mem_ps at_ps) {
    mem_ps sent_ps = mem_slots_ready(&d->write_queue, at_ps);

    d->sent_until_ps = mem_later(d->sent_until_ps, sent_ps);
    return d->sent_until_ps;
}

MemWriteTimes mem_device_write(MemDevice *d, uint64_t line, uint64_t byte_mask, mem_ps at_ps, mem_ps way_ps) {
    MemCounters *count = counters_now(d);
    MemDelays why = {0}; /* unused: a write has no statistics of delays */
    mem_ps sent_ps = send_write(d, at_ps + way_ps);
    MemWriteTimes t = {.taken_ps = mem_link_write_data(&d->link, sent_ps)};
    mem_ps looked_up_ps = start_request(d, line, mem_link_arrival(&d->link, t.taken_ps), &why);
    MemLookUp l = look_up_write(d, count, line, byte_mask, looked_up_ps, &why);

    assert(byte_mask);
    mem_ps in_dram_ps = mem_later(move_line(d, l.ready_ps, &why), d->in_dram_from_ps);
    accept_write(d, &t, sent_ps, in_dram_ps);
    mem_persist_written_back(&d->persist, line, at_ps, t.accepted_ps);
    written(d, count, &l, line, byte_mask, in_dram_ps);
    if (l.teaches) {
        mem_device_prefetch(d, count, line >> d->page_line_shift, looked_up_ps);
    }
    count->cxl_writes++;
    mem_hotness_count(&d->hotness, line, true);
    count->link_write_bytes += MEMSYS_LINE_BYTES;
    return t;
}

mem_ps mem_device_barrier(MemDevice *d, mem_ps at_ps) {
    run_log(d, at_ps);
    mem_persist_barrier(&d->persist, at_ps);
    if (!d->timed) {
        mem_persist_settle(&d->persist, at_ps); /* untimed, the barrier takes no time */
    }
    return mem_later(at_ps, d->accepted_until_ps) + d->persist.wbarrier_ps;
}

/* ---- Power ---- */

/* Program every page that is newer in the cache or the log than in flash, the log's lines first. */
static void program_all(MemDevice *d) {
    for (int half = 0; d->log.room && half < 2; half++) {
        while (mem_log_is_compacting(&d->log)) {
            MemLogCompaction c = mem_log_compact_next(&d->log);
            if (c.dirty) {
                program_untimed(d, c.page);
            }
        }
        mem_log_turn(&d->log);
    }
    for (uint32_t i = 0; i < d->cache.frame_count; i++) {
        if (d->cache.frames[i].dirty) {
            program_untimed(d, mem_frame_page(&d->cache.frames[i]));
        }
    }
}

static void save_all(MemDevice *d) {
    program_all(d);
    mem_device_cache_clean(&d->cache);
    mem_masks_clear(&d->masks);
    mem_log_clear(&d->log);
}

MemPowerCut mem_device_power_cut(MemDevice *d, mem_ps now_ps) {
    run_log(d, now_ps);
    d->cut = mem_persist_power_cut(&d->persist, now_ps);
    if (d->config.cache_power_loss_protected && d->has_flash && d->config.flash_read_errors) {
        save_all(d); /* otherwise a later read of these pages would go to their old places in flash */
    } else if (!d->config.cache_power_loss_protected && d->has_flash) {
        mem_device_cache_clear(&d->cache);
        mem_masks_clear(&d->masks);
        mem_log_clear(&d->log);
    }
    mem_device_cache_settle(&d->cache);
    reset_queues(d, d->timed);
    return d->cut;
}

void mem_device_power_off(MemDevice *d, mem_ps now_ps) {
    run_log(d, now_ps);
    save_all(d);
    mem_persist_power_off(&d->persist, now_ps);
    mem_device_cache_settle(&d->cache);
    reset_queues(d, d->timed);
}

/* ---- Invariants ---- */

static uint32_t masks_in_use(const MemDevice *d) {
    uint32_t masks = 0;
    for (uint32_t frame = 0; frame < d->cache.frame_count; frame++) {
        masks += d->cache.frames[frame].mask != MEM_NO_MASK;
    }
    return masks;
}

const char *mem_device_check_state(const MemDevice *d) {
    if (!d->has_flash) {
        return d->cache.frames ? "a memory expander has no cache" : NULL;
    }
    const char *broken = mem_device_cache_check(&d->cache);
    broken = broken ? broken : mem_log_check(&d->log);
    broken = broken ? broken : mem_flash_check_state(&d->flash);
    if (!broken && masks_in_use(d) != mem_masks_count(&d->masks)) {
        broken = "each mask in use is that of one page";
    }
    return broken;
}
