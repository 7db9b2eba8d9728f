/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CXL link: a latency each way, and a line at a time in each direction.
 * Messages without data (read requests, write completions) take the latency but
 * no bandwidth. The device returns write credits in the order it accepts writes
 * for sending: a write waits until the one MEM_LINK_WRITE_CREDITS before it has
 * been accepted, which bounds what can be under way.
 */
#ifndef MODEL_LINK_H
#define MODEL_LINK_H

#include "serial.h"

#define MEM_LINK_WRITE_CREDITS 1024u /* a power of two */

typedef struct MemLinkTiming {
    mem_ps latency_ps;
    mem_ps read_transfer_ps;
    mem_ps write_transfer_ps;
} MemLinkTiming;

typedef struct MemLink {
    MemLinkTiming configured;
    MemLinkTiming active;
    MemSerial to_host;
    MemSerial to_device;
    uint32_t next_credit;
    mem_ps accepted_ps[MEM_LINK_WRITE_CREDITS]; /* of the last writes, a ring */
} MemLink;

void mem_link_init(MemLink *l, const MemDeviceConfig *config);
void mem_link_set_timed(MemLink *l, bool timed);

/* A message without data: when it is at the other end. */
mem_ps mem_link_message(const MemLink *l, mem_ps at_ps);
/* A line to the host: when it is there. */
mem_ps mem_link_to_host(MemLink *l, mem_ps at_ps);
/* A line to the device: when its last byte has left the host. Report its acceptance before the next one. */
mem_ps mem_link_to_device(MemLink *l, mem_ps at_ps);
void mem_link_accepted(MemLink *l, mem_ps accepted_ps);

#endif
