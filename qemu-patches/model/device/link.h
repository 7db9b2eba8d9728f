/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The CXL link: a latency each way, and one message at a time on the wire of each
 * direction. With flits a message takes the wire time of its 16-byte slots: one for
 * a request or a completion, five for a line with its header. Without flits, only
 * the 64 bytes of a line take wire time.
 *
 * The header slot of a line to the host has room for a completion (CXL 2.0, slot
 * format H3). While lines flow, one starts at least once in the time that a line
 * takes. So a completion that would wait longer than that travels with a line, one
 * completion for each line, and takes no wire time itself.
 *
 * With multiple data headers (MDH) the slot has room for the header of another line
 * instead (H5). A line that has to wait for the wire shares a slot with another
 * line, half of it each. It cannot share if a completion has travelled with one of
 * them: the next line that waits takes the missing half besides.
 *
 * A message is sent in the first gap after it is ready, but lines to the device
 * keep their order. Write credits return in the order of sending: a write waits
 * until the device has accepted the write MEM_LINK_WRITE_CREDITS before it, which
 * bounds the number under way.
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
    mem_ps half_header_ps; /* device to host: the time that a line saves by sharing a header slot */
} MemLinkTiming;

typedef struct MemLink {
    MemLinkTiming configured;
    MemLinkTiming active;
    MemCalendar to_host;
    MemCalendar to_device;
    mem_ps last_line_ps;    /* when the latest line to the host starts */
    mem_ps header_taken_ps; /* when the latest completion travelled with a line */
    mem_ps headers_owed_ps; /* time that lines cannot save any more because of such completions */
    mem_ps write_left_ps;   /* when the last line to the device left */
    uint32_t next_credit;
    mem_ps accepted_ps[MEM_LINK_WRITE_CREDITS]; /* of the last writes: a ring */
} MemLink;

/* NULL, or the rule that the link's part of a configuration breaks. */
const char *mem_link_check(const MemDeviceConfig *config);

void mem_link_init(MemLink *l, const MemDeviceConfig *config);
void mem_link_set_timed(MemLink *l, bool timed);
/* New times from now on; messages on their way keep theirs. */
void mem_link_reconfigure(MemLink *l, const MemDeviceConfig *config, bool timed);

/* Send a read request; returns when it is at the device. */
mem_ps mem_link_request(MemLink *l, mem_ps at_ps, MemDelays *why);
/* Send a line to the host; returns when it is there. */
mem_ps mem_link_read_data(MemLink *l, mem_ps at_ps, MemDelays *why);

/*
 * Send a line to the device; returns when its last byte has left the host. The caller reports its acceptance before it
 * sends the next line.
 */
mem_ps mem_link_write_data(MemLink *l, mem_ps at_ps);
void mem_link_accepted(MemLink *l, mem_ps accepted_ps);
/* A line that has left is at the device one latency later. */
static inline mem_ps mem_link_arrival(const MemLink *l, mem_ps left_ps) { return left_ps + l->active.latency_ps; }
/* Send the completion of a write; returns when it is at the host. */
mem_ps mem_link_completion(MemLink *l, mem_ps at_ps);
/* The same on an idle link, without sending anything. */
static inline mem_ps mem_link_idle_completion(const MemLink *l, mem_ps at_ps) {
    return at_ps + l->active.completion_ps + l->active.latency_ps;
}

#endif
