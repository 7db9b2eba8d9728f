/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes of a line in the memory that holds it: local DRAM or a device. */
#include "memory_internal.h"

static void note_device_read(MemMemory *m, const MemReadTimes *t, mem_ps span_ps) {
    MemHistogram *h = m->histograms;

    mem_histogram_add(&h[t->hit ? MEM_CAUSE_cxl_hit : MEM_CAUSE_cxl_miss], span_ps);
    mem_histogram_add(&h[MEM_CAUSE_link], t->why.link_ps);
    mem_histogram_add(&h[MEM_CAUSE_device_cache], t->why.cache_ps);
    if (t->why.queue_ps) {
        mem_histogram_add(&h[MEM_CAUSE_queue], t->why.queue_ps);
    }
    if (!t->hit || t->why.flash_ps) { /* a hit in a page that flash is still reading waits for the end of that read */
        mem_histogram_add(&h[MEM_CAUSE_flash_read], t->why.flash_ps);
    }
    if (t->hit) {
        return;
    }
    if (t->why.program_ps) {
        mem_histogram_add(&h[MEM_CAUSE_program], t->why.program_ps);
    }
    if (t->why.gc_ps) {
        mem_histogram_add(&h[MEM_CAUSE_gc], t->why.gc_ps);
    }
}

static inline void note(MemMemory *m, const MemCore *c, uint64_t line, mem_ps sent_ps, mem_ps arrives_ps) {
    if (m->core_count > 1) {
        mem_memory_note_under_way(m, c, line, sent_ps, arrives_ps);
    }
}

MemRead mem_memory_read_line(MemMemory *m, MemCore *c, uint64_t line, mem_ps at_ps, bool demand) {
    uint64_t device_line;
    MemDevice *d = mem_memory_route(m, line, &device_line);
    mem_ps looked_up_ps = at_ps + m->llc_ps;
    MemRead r;

    if (!d) {
        r = (MemRead){mem_dram_read(&m->dram, looked_up_ps), &c->count->stall_dram_ps};
        c->count->dram_reads++;
        if (demand && m->timed) {
            mem_histogram_add(&m->histograms[MEM_CAUSE_dram], r.done_ps - at_ps);
        }
        note(m, c, line, at_ps, r.done_ps);
        return r;
    }
    MemReadTimes t = mem_device_read(d, device_line, looked_up_ps);
    r = (MemRead){t.done_ps, t.hit ? &c->count->stall_cxl_hit_ps : &c->count->stall_cxl_miss_ps};
    if (demand && m->timed) {
        note_device_read(m, &t, r.done_ps - at_ps);
    }
    note(m, c, line, at_ps, r.done_ps);
    return r;
}

MemWriteTimes mem_memory_write_line(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps, mem_ps way_ps) {
    uint64_t device_line;
    MemDevice *d = mem_memory_route(m, op->line, &device_line);

    if (!d) {
        mem_ps accepted_ps = mem_dram_write(&m->dram, at_ps + way_ps);
        c->count->dram_writes++;
        return (MemWriteTimes){.taken_ps = accepted_ps, .accepted_ps = accepted_ps, .completed_ps = accepted_ps};
    }
    MemWriteTimes t = mem_device_write(d, device_line, op->byte_mask, at_ps, way_ps);
    if (m->timed) {
        mem_in_flight_add(&m->writes, op->line, at_ps, t.completed_ps,
                          m->core_count == 1 ? c->reached_ps : mem_memory_over_by(m));
    }
    return t;
}

MemWriteTimes mem_memory_write_ordered(MemMemory *m, MemCore *c, const MemOperation *op, mem_ps at_ps) {
    MemWriteTimes t = mem_memory_write_line(m, c, op, at_ps, m->llc_ps);

    c->fence_until_ps = mem_later(c->fence_until_ps, t.completed_ps);
    return t;
}
