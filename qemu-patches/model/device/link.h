/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CXL link: a latency each way, and one message at a time on the wire of
 * each direction. With flits a message takes the wire time of its 16-byte slots:
 * a request or a completion one, a line with its header five. Without, only the
 * 64 bytes of a line take wire time.
 *
 * The header slot of a line to the host has room for a completion (CXL 2.0, slot
 * format H3). While lines flow one starts at least once in the time that a line
 * takes, so a completion that would wait for longer goes with it, one each, and takes
 * no wire time of its own.
 *
 * With multiple data headers (MDH) it has room for the header of another line instead
 * (H5). A line that has to wait for the wire shares a slot with another, half of it
 * each. It cannot if a completion has gone with one of them: the next line that waits
 * makes up for the half.
 *
 * A message is sent in the first gap after it is ready, but lines to the device
 * keep their order. The device returns write credits in the order it accepts
 * writes for sending: a write waits until the one MEM_LINK_WRITE_CREDITS before
 * it has been accepted, which bounds what can be under way.
 */
#ifndef MODEL_LINK_H
#define MODEL_LINK_H

#include "../base/calendar.h"
#include "../config/device.h"
#include "delays.h"

#define MEM_LINK_WRITE_CREDITS 1024u /* a power of two */

typedef struct MemLinkTiming {
    mem_ps latency_ps;
    /* Wire time of each kind of message. */
    mem_ps request_ps;     /* host to device: M2S Req */
    mem_ps write_data_ps;  /* host to device: M2S RwD */
    mem_ps read_data_ps;   /* device to host: S2M DRS */
    mem_ps completion_ps;  /* device to host: S2M NDR */
    mem_ps half_header_ps; /* device to host: what sharing a header slot saves a line */
} MemLinkTiming;

typedef struct MemLink {
    MemLinkTiming configured;
    MemLinkTiming active;
    MemCalendar to_host;
    MemCalendar to_device;
    mem_ps last_line_ps;    /* when the latest of the lines to the host starts */
    mem_ps header_taken_ps; /* when the latest completion went with one */
    mem_ps headers_owed_ps; /* of such completions: what lines cannot share any more */
    mem_ps write_left_ps;   /* when the last line to the device had left */
    uint32_t next_credit;
    mem_ps accepted_ps[MEM_LINK_WRITE_CREDITS]; /* of the last writes, a ring */
} MemLink;

/* NULL, or the rule that the link's part of a configuration breaks. */
const char *mem_link_check(const MemDeviceConfig *config);

void mem_link_init(MemLink *l, const MemDeviceConfig *config);
void mem_link_set_timed(MemLink *l, bool timed);
/* New times from now on; what is on its way stays so. */
void mem_link_reconfigure(MemLink *l, const MemDeviceConfig *config, bool timed);

/* A read request: when it is at the device. */
mem_ps mem_link_request(MemLink *l, mem_ps at_ps, MemDelays *why);
/* A line to the host: when it is there. */
mem_ps mem_link_read_data(MemLink *l, mem_ps at_ps, MemDelays *why);

/* A line to the device: when its last byte has left the host. Report its acceptance before the next one. */
mem_ps mem_link_write_data(MemLink *l, mem_ps at_ps);
void mem_link_accepted(MemLink *l, mem_ps accepted_ps);
/* What has left is at the device one latency later. */
static inline mem_ps mem_link_arrival(const MemLink *l, mem_ps left_ps) { return left_ps + l->active.latency_ps; }
/* The completion of a write: when it is at the host. */
mem_ps mem_link_completion(MemLink *l, mem_ps at_ps);
/* The same on an idle link, without sending it. */
static inline mem_ps mem_link_idle_completion(const MemLink *l, mem_ps at_ps) {
    return at_ps + l->active.completion_ps + l->active.latency_ps;
}

#endif
