/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "link.h"

#include <string.h>

#include "../config/rules.h"

#define SLOT_BYTES 16u
#define HEADER_SLOTS 1u
#define LINE_SLOTS (HEADER_SLOTS + MEMSYS_LINE_BYTES / SLOT_BYTES)

const char *mem_link_check(const MemDeviceConfig *c) {
    REQUIRE(c->link_flit_bytes == 0 || c->link_flit_bytes == 68 || c->link_flit_bytes == 256,
            "link_flit_bytes must be 0, 68 or 256");
    return NULL;
}

static mem_ps divide_up(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }

/*
 * Slots share a flit with other messages in that direction, so a message pays for its part of a flit. Rounded up to 1
 * ps.
 */
static mem_ps wire_ps(uint32_t slots, uint32_t flit_bytes, uint64_t bandwidth) {
    uint32_t flit_slots = flit_bytes == 68 ? 4 : 15;
    return divide_up(divide_up((uint64_t)slots * flit_bytes * MEM_PS_PER_S, flit_slots), bandwidth);
}

static MemLinkTiming timing_of(const MemDeviceConfig *c) {
    MemLinkTiming t = {.latency_ps = c->link_latency_ps};

    if (c->link_flit_bytes) {
        t.request_ps = wire_ps(HEADER_SLOTS, c->link_flit_bytes, c->link_write_bandwidth);
        t.write_data_ps = wire_ps(LINE_SLOTS, c->link_flit_bytes, c->link_write_bandwidth);
        t.read_data_ps = wire_ps(LINE_SLOTS, c->link_flit_bytes, c->link_read_bandwidth);
        t.completion_ps = wire_ps(HEADER_SLOTS, c->link_flit_bytes, c->link_read_bandwidth);
        t.half_header_ps = c->link_multi_header ? t.completion_ps / 2 : 0;
    } else {
        t.write_data_ps = mem_line_transfer_ps(c->link_write_bandwidth);
        t.read_data_ps = mem_line_transfer_ps(c->link_read_bandwidth);
    }
    return t;
}

void mem_link_init(MemLink *l, const MemDeviceConfig *config) {
    l->configured = timing_of(config);
    mem_link_set_timed(l, false);
}

void mem_link_set_timed(MemLink *l, bool timed) {
    l->active = timed ? l->configured : (MemLinkTiming){0};
    mem_calendar_clear(&l->to_host);
    mem_calendar_clear(&l->to_device);
    l->last_line_ps = 0;
    l->header_taken_ps = 0;
    l->headers_owed_ps = 0;
    l->write_left_ps = 0;
    l->next_credit = 0;
    memset(l->accepted_ps, 0, sizeof(l->accepted_ps));
}

void mem_link_reconfigure(MemLink *l, const MemDeviceConfig *config, bool timed) {
    l->configured = timing_of(config);
    l->active = timed ? l->configured : (MemLinkTiming){0};
}

/* Send a message; returns when it has arrived. */
static mem_ps send(const MemLink *l, MemCalendar *wire, mem_ps at_ps, mem_ps wire_ps, MemDelays *why) {
    mem_ps start_ps = mem_calendar_reserve(wire, at_ps, wire_ps);

    why->queue_ps += start_ps - at_ps;
    why->link_ps += wire_ps + l->active.latency_ps;
    return start_ps + wire_ps + l->active.latency_ps;
}

mem_ps mem_link_request(MemLink *l, mem_ps at_ps, MemDelays *why) {
    return send(l, &l->to_device, at_ps, l->active.request_ps, why);
}

mem_ps mem_link_read_data(MemLink *l, mem_ps at_ps, MemDelays *why) {
    mem_ps wire_ps = l->active.read_data_ps;
    bool waits = mem_calendar_probe(&l->to_host, at_ps, wire_ps) != at_ps;

    if (waits) {
        wire_ps += l->headers_owed_ps - l->active.half_header_ps;
    }
    l->headers_owed_ps = 0;

    mem_ps there_ps = send(l, &l->to_host, at_ps, wire_ps, why);
    l->last_line_ps = mem_later(l->last_line_ps, there_ps - l->active.latency_ps - wire_ps);
    return there_ps;
}

mem_ps mem_link_write_data(MemLink *l, mem_ps at_ps) {
    mem_ps ready_ps = mem_later(mem_later(at_ps, l->accepted_ps[l->next_credit]), l->write_left_ps);

    l->write_left_ps = mem_calendar_reserve(&l->to_device, ready_ps, l->active.write_data_ps) + l->active.write_data_ps;
    return l->write_left_ps;
}

void mem_link_accepted(MemLink *l, mem_ps accepted_ps) {
    l->accepted_ps[l->next_credit] = accepted_ps;
    l->next_credit = (l->next_credit + 1) % MEM_LINK_WRITE_CREDITS;
}

mem_ps mem_link_completion(MemLink *l, mem_ps at_ps) {
    mem_ps idle_ps = mem_calendar_probe(&l->to_host, at_ps, l->active.completion_ps);
    mem_ps start_ps = mem_later(at_ps, l->header_taken_ps) + l->active.read_data_ps;

    if (start_ps < idle_ps && start_ps <= l->last_line_ps) {
        l->header_taken_ps = start_ps;
        l->headers_owed_ps += l->active.half_header_ps;
    } else {
        start_ps = mem_calendar_reserve(&l->to_host, at_ps, l->active.completion_ps);
    }
    return start_ps + l->active.completion_ps + l->active.latency_ps;
}
