/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "link.h"

#include <string.h>

void mem_link_init(MemLink *l, const MemDeviceConfig *config) {
    l->configured = (MemLinkTiming){
        .latency_ps = config->link_latency_ps,
        .read_transfer_ps = mem_line_transfer_ps(config->link_read_bandwidth),
        .write_transfer_ps = mem_line_transfer_ps(config->link_write_bandwidth),
    };
    mem_link_set_timed(l, false);
}

void mem_link_set_timed(MemLink *l, bool timed) {
    l->active = timed ? l->configured : (MemLinkTiming){0};
    l->to_host = (MemSerial){0};
    l->to_device = (MemSerial){0};
    l->next_credit = 0;
    memset(l->accepted_ps, 0, sizeof(l->accepted_ps));
}

mem_ps mem_link_message(const MemLink *l, mem_ps at_ps) { return at_ps + l->active.latency_ps; }

mem_ps mem_link_to_host(MemLink *l, mem_ps at_ps) {
    return mem_serial_occupy(&l->to_host, at_ps, l->active.read_transfer_ps) + l->active.latency_ps;
}

mem_ps mem_link_to_device(MemLink *l, mem_ps at_ps) {
    mem_ps credit_ps = l->accepted_ps[l->next_credit];
    return mem_serial_occupy(&l->to_device, mem_later(at_ps, credit_ps), l->active.write_transfer_ps);
}

void mem_link_accepted(MemLink *l, mem_ps accepted_ps) {
    l->accepted_ps[l->next_credit] = accepted_ps;
    l->next_credit = (l->next_credit + 1) % MEM_LINK_WRITE_CREDITS;
}
