/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The doorbell between a guest program and the testbed's QEMU.
 *
 * One CPUID leaf, usable from user space without a driver: EAX = "CXSL" in ASCII, ECX = operation, EBX = argument. Any
 * other machine treats it as an unknown leaf and returns numbers that are ignored. So a program built with this header
 * also runs natively: there testbed_present() is 0 and every other call does nothing.
 *
 *     testbed_roi_begin(1);   // caches and DRAM are modelled and counted from here ...
 *     work();
 *     testbed_roi_end();      // ... to here
 *
 * Print nothing inside the region of interest: a serial port is a device, and its accesses would be measured too.
 */
#ifndef TESTBED_ROI_H
#define TESTBED_ROI_H

#include <stdint.h>

#define TESTBED_DOORBELL_LEAF 0x4358534cu    /* "CXSL" */
#define TESTBED_DOORBELL_REPLY_B 0x2d4c5843u /* "CXL-" */
#define TESTBED_DOORBELL_REPLY_C 0x54445353u /* "SSDT" */

enum testbed_doorbell_op {
    TESTBED_OP_QUERY = 0,
    TESTBED_OP_ROI_BEGIN = 1,
    TESTBED_OP_ROI_END = 2,
    TESTBED_OP_RESET_COUNTERS = 3,
    TESTBED_OP_POWER_CUT = 4,
    TESTBED_OP_MARK = 5,
    TESTBED_OP_WBARRIER = 6,
    TESTBED_OP_AWAIT_JOB = 7, /* for the guest's init: the host may stop the guest here, and copy it */
    TESTBED_OP_HOT_PAGE = 8,
};

struct testbed_reply {
    uint32_t a, b, c, d;
};

/* The "memory" clobber keeps the compiler from moving measured work across the doorbell. */
static inline struct testbed_reply testbed_doorbell(uint32_t op, uint32_t argument) {
    struct testbed_reply reply = {TESTBED_DOORBELL_LEAF, argument, op, 0};
#if defined(__x86_64__)
    __asm__ volatile("cpuid" : "+a"(reply.a), "+b"(reply.b), "+c"(reply.c), "+d"(reply.d) : : "memory");
#endif
    return reply;
}

/* The version of the testbed's doorbell, or 0 on any other machine. */
static inline uint32_t testbed_query(void) {
    struct testbed_reply reply = testbed_doorbell(TESTBED_OP_QUERY, 0);
    if (reply.b != TESTBED_DOORBELL_REPLY_B || reply.c != TESTBED_DOORBELL_REPLY_C)
        return 0;
    return reply.d;
}

/* Queried once per translation unit: CPUID traps on other hypervisors and costs a microsecond there. */
static inline int testbed_present(void) {
    static int present = -1;
    if (present < 0)
        present = testbed_query() != 0;
    return present;
}

/* Ring the doorbell for its effect alone. */
static inline void testbed_ring(uint32_t op, uint32_t argument) {
    if (testbed_present())
        (void)testbed_doorbell(op, argument);
}

/* Begin the region of interest number `id`; regions do not nest. */
static inline void testbed_roi_begin(uint32_t id) { testbed_ring(TESTBED_OP_ROI_BEGIN, id); }

/* End the region of interest: its counters and the virtual time that it took are recorded. */
static inline void testbed_roi_end(void) { testbed_ring(TESTBED_OP_ROI_END, 0); }

/* Set all counters to zero. */
static inline void testbed_reset_counters(void) { testbed_ring(TESTBED_OP_RESET_COUNTERS, 0); }

/* Acknowledge progress: the host reads the last number, also after a power cut. */
static inline void testbed_mark(uint32_t number) { testbed_ring(TESTBED_OP_MARK, number); }

/* The pm_wbarrier of PMFS: every store that the device has accepted is durable when this returns. Fence before the
 * call. */
static inline void testbed_wbarrier(void) { testbed_ring(TESTBED_OP_WBARRIER, 0); }

struct testbed_hot_page {
    uint64_t dpa;
    uint32_t reads, writes; /* lines of 64 bytes that the host requested from the device, in the region of interest */
};

/*
 * Returns one of a device's most requested pages, by `rank` from 0 on. All fields are 0 behind the last page, and
 * without the parameter hot_pages. Rank 0 makes a new list, and the other ranks read from it.
 */
static inline struct testbed_hot_page testbed_hot_page(uint32_t device, uint32_t rank) {
    struct testbed_reply reply = {0, 0, 0, 0};
    if (testbed_present())
        reply = testbed_doorbell(TESTBED_OP_HOT_PAGE, device << 24 | rank);
    return (struct testbed_hot_page){(uint64_t)reply.b << 12, reply.c, reply.d};
}

/* Cut the power of the whole guest now: does not return in the testbed. */
static inline void testbed_power_cut(void) { testbed_ring(TESTBED_OP_POWER_CUT, 0); }

#endif
