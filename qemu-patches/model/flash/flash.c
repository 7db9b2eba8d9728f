/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flash.h"

#include <stdlib.h>

#include "../base/mem_alloc.h"
#include "../config/rules.h"

#define MAX_PLANES 65536u

const char *mem_flash_check(const MemDeviceConfig *c) {
    REQUIRE(mem_flash_plane_count(c) <= MAX_PLANES, "flash_channels * flash_dies * flash_planes must be at most 65536");
    REQUIRE(c->flash_read_errors == 0 || c->flash_ftl == MEM_FTL_PAGE,
            "flash_read_errors must be 0 unless flash_ftl is page: without one no block is ever erased");
    REQUIRE(c->flash_read_errors == 0 || c->flash_endurance_cycles != 0,
            "flash_read_errors must be 0 unless flash_endurance_cycles gives the erase count that they are for");
    if (c->flash_ftl == MEM_FTL_NONE) {
        return NULL;
    }
    MemFlashGeometry g = mem_ftl_geometry(c);
    return mem_ftl_check_geometry(&g);
}

static MemFlashTiming timing_of(const MemDeviceConfig *c) {
    mem_ps page_ps = c->cache_page_bytes * (mem_ps)MEM_PS_PER_S; /* at 1 byte per second */

    return (MemFlashTiming){
        .read_ps = c->flash_read_ps,
        .program_ps = c->flash_program_ps,
        .erase_ps = c->flash_erase_ps,
        .transfer_ps = c->flash_channel_bandwidth ? (page_ps - 1) / c->flash_channel_bandwidth + 1 : 0,
        .suspend_ps = c->flash_suspend_ps,
        .suspend = c->flash_suspend,
    };
}

void mem_flash_init(MemFlash *f, const MemDeviceConfig *config) {
    *f = (MemFlash){.channel_count = config->flash_channels, .plane_count = mem_flash_plane_count(config)};
    f->configured = timing_of(config);
    f->channels = mem_calloc(f->channel_count, sizeof(*f->channels));
    f->planes = mem_calloc(f->plane_count, sizeof(*f->planes));
    if (config->flash_ftl == MEM_FTL_PAGE) {
        f->ftl = mem_ftl_new(config);
    }
}

void mem_flash_destroy(MemFlash *f) {
    for (uint64_t i = 0; i < f->channel_count; i++) {
        mem_timeline_destroy(&f->channels[i]);
    }
    for (uint64_t i = 0; i < f->plane_count; i++) {
        mem_timeline_destroy(&f->planes[i]);
    }
    free(f->channels);
    free(f->planes);
    mem_ftl_free(f->ftl);
}

void mem_flash_set_timed(MemFlash *f, bool timed) {
    f->active = timed ? f->configured : (MemFlashTiming){0};
    for (uint64_t i = 0; i < f->channel_count; i++) {
        mem_timeline_clear(&f->channels[i]);
    }
    for (uint64_t i = 0; i < f->plane_count; i++) {
        mem_timeline_clear(&f->planes[i]);
    }
}

void mem_flash_reconfigure(MemFlash *f, const MemDeviceConfig *config, bool timed) {
    MemFlashTiming old = f->configured;

    f->configured = timing_of(config);
    if (timed) {
        f->active = f->configured;
    }
    /* Programs reported without suspension keep their times. */
    for (uint64_t i = 0; f->configured.suspend && !old.suspend && i < f->plane_count; i++) {
        mem_timeline_settle(&f->planes[i], mem_timeline_end(&f->planes[i]));
    }
}

void mem_flash_listen(MemFlash *f, const MemMoveListener *listener) { f->listener = *listener; }

void mem_flash_listen_to_losses(MemFlash *f, const MemPageLost *listener) {
    if (f->ftl) {
        f->ftl->listener = *listener;
    }
}

/* Move a page across the plane's channel from `ready_ps` on; returns when it has crossed. */
static mem_ps transfer(MemFlash *f, uint64_t plane, MemBusyWith with, mem_ps ready_ps, MemBusyWaits *waits) {
    MemTimeline *channel = &f->channels[plane % f->channel_count];

    if (!f->active.transfer_ps) {
        return ready_ps;
    }
    return mem_timeline_fit(channel, ready_ps, with, f->active.transfer_ps, waits) + f->active.transfer_ps;
}

/* A request for a plane is issued now. Only this time may forget spans: later steps of the request have later times. */
static MemTimeline *enter_plane(MemFlash *f, uint64_t plane, mem_ps at_ps) {
    mem_timeline_forget(&f->channels[plane % f->channel_count], at_ps);
    mem_timeline_forget(&f->planes[plane], at_ps);
    return &f->planes[plane];
}

static MemFlashTimes times_of(mem_ps start_ps, mem_ps end_ps, const MemBusyWaits *waits) {
    return (MemFlashTimes){
        .start_ps = start_ps,
        .end_ps = end_ps,
        .queue_wait_ps = waits->for_ps[MEM_BUSY_READ],
        .program_wait_ps = waits->for_ps[MEM_BUSY_PROGRAM],
        .gc_wait_ps = waits->for_ps[MEM_BUSY_GC],
    };
}

MemFlashTimes mem_flash_read(MemFlash *f, MemCounters *count, uint64_t page, mem_ps at_ps) {
    uint64_t plane = f->ftl ? mem_ftl_plane_of(f->ftl, page) : page % f->plane_count;
    MemTimeline *t = enter_plane(f, plane, at_ps);
    MemBusyWaits waits = {0};
    mem_ps start_ps;

    if (f->active.suspend) {
        /* A read does not overtake the program of the same page. */
        mem_ps after_ps = mem_timeline_program_end(t, page, at_ps);
        start_ps =
            mem_timeline_preempt(t, at_ps, after_ps, f->active.read_ps, f->active.suspend_ps, &waits, &f->listener);
    } else {
        MemBusySpan read = {.page = MEM_BUSY_UNNAMED, .with = MEM_BUSY_READ};
        start_ps = mem_timeline_append(t, at_ps, &read, f->active.read_ps, &waits);
    }
    mem_ps end_ps = transfer(f, plane, MEM_BUSY_READ, start_ps + f->active.read_ps, &waits);
    MemFlashTimes times = times_of(start_ps, end_ps, &waits);
    times.lost = f->ftl && mem_ftl_is_lost(f->ftl, page);
    count->flash_reads++;
    count->flash_read_failures += times.lost;
    return times;
}

/* The plane cleans blocks before it takes the program. */
static void occupy_by_gc(MemFlash *f, const MemFtlProgram *p, mem_ps at_ps) {
    MemBusySpan gc = {.page = MEM_BUSY_UNNAMED, .with = MEM_BUSY_GC};
    mem_ps move_ps = f->active.program_ps + f->active.read_ps;

    mem_timeline_append(&f->planes[p->plane], at_ps, &gc, p->moves * move_ps + p->erases * f->active.erase_ps, NULL);
}

/*
 * A program of a page waits for an earlier program of the same page on another plane, which no read may move any more.
 * Returns when the program may begin.
 */
static mem_ps await_older_program(MemFlash *f, uint64_t old_plane, uint64_t page, mem_ps at_ps) {
    MemTimeline *t = &f->planes[old_plane];
    mem_ps end_ps = mem_timeline_program_end(t, page, at_ps);

    mem_timeline_settle(t, end_ps);
    return mem_later(at_ps, end_ps);
}

MemFlashTimes mem_flash_program(MemFlash *f, MemCounters *count, uint64_t page, mem_ps at_ps) {
    MemFtlProgram p = {.plane = page % f->plane_count};
    MemBusySpan program = {.page = MEM_BUSY_UNNAMED, .with = MEM_BUSY_PROGRAM};
    MemBusyWaits waits = {0};

    if (f->ftl) {
        p = mem_ftl_program(f->ftl, page);
    }
    MemTimeline *t = enter_plane(f, p.plane, at_ps);
    mem_ps sent_ps = transfer(f, p.plane, MEM_BUSY_PROGRAM, at_ps, &waits);
    mem_ps ready_ps = f->ftl ? await_older_program(f, p.old_plane, page, sent_ps) : sent_ps;
    if (p.erases) {
        occupy_by_gc(f, &p, at_ps);
    }
    if (f->ftl || f->configured.suspend) {
        program.page = page;
    }
    waits.for_ps[MEM_BUSY_PROGRAM] += ready_ps - sent_ps;
    mem_ps start_ps = mem_timeline_append(t, ready_ps, &program, f->active.program_ps, &waits);
    count->flash_programs += 1 + p.moves;
    count->flash_gc_moves += p.moves;
    count->flash_erases += p.erases;
    count->flash_read_failures += p.lost;
    return times_of(start_ps, start_ps + f->active.program_ps, &waits);
}

const char *mem_flash_check_state(const MemFlash *f) {
    const char *broken = f->ftl ? mem_ftl_check(f->ftl) : NULL;

    for (uint64_t i = 0; !broken && i < f->plane_count; i++) {
        broken = mem_timeline_check(&f->planes[i]);
    }
    for (uint64_t i = 0; !broken && i < f->channel_count; i++) {
        broken = mem_timeline_check(&f->channels[i]);
    }
    return broken;
}
