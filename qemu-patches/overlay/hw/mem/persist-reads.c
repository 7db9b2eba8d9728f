/*
 * Which lines of the devices' persistent memory the guest has read. The run
 * from here on cannot depend on any other line (docs/explanation/crash.md).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "exec/cpu-common.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "persist-reads.h"
#include "system/hostmem.h"
#include "system/runstate.h"

typedef struct DeviceReads {
    uint64_t *known;        /* by line: the bytes that were stored */
    unsigned long *read;    /* a bit for each line */
} DeviceReads;

static struct {
    FILE *file;
    DeviceReads devices[MEMSYS_MAX_DEVICES];
} reads;

static void write_place(uint64_t device, uint64_t dpa)
{
    uint64_t place[2] = { cpu_to_le64(device), cpu_to_le64(dpa) };

    if (fwrite(place, sizeof(place), 1, reads.file) != 1) {
        error_report("persist-reads: %s", strerror(errno));
        exit(EXIT_FAILURE);
    }
}

/* An access of @size bytes at @dpa, all in one line. */
static void line_accessed(uint32_t device, uint64_t dpa, int size, bool store)
{
    uint64_t volatile_bytes = cxl_ssds[device]->config.volatile_bytes;
    DeviceReads *d = &reads.devices[device];
    uint64_t bytes = MAKE_64BIT_MASK(dpa % MEMSYS_LINE_BYTES, size);
    uint64_t line;

    if (dpa < volatile_bytes) {
        return;
    }
    line = (dpa - volatile_bytes) / MEMSYS_LINE_BYTES;
    if (store) {
        d->known[line] |= bytes;
    } else if (!test_bit(line, d->read) &&
               /* In a region of interest only the first load is reported. */
               (timed_mem_lines_in_use || bytes & ~d->known[line])) {
        set_bit(line, d->read);
        write_place(device, ROUND_DOWN(dpa, MEMSYS_LINE_BYTES));
    }
}

static void persist_reads_access(hwaddr paddr, int size, bool store)
{
    const hwaddr end = paddr + size;

    while (paddr < end) {
        int part = MIN(end - paddr,
                       MEMSYS_LINE_BYTES - paddr % MEMSYS_LINE_BYTES);
        uint32_t device;
        uint64_t dpa;

        if (memsys_device_address(timed_mem_memsys(), paddr, &device, &dpa)) {
            line_accessed(device, dpa, part, store);
        }
        paddr += part;
    }
}

static bool was_executed(CXLSSDState *s)
{
    HostMemoryBackend *backend = CXL_TYPE3(s)->hostpmem;

    return backend &&
           timed_mem_has_code(host_memory_backend_get_memory(backend));
}

static void vm_stopped(void *opaque, bool running, RunState state)
{
    bool code = false;

    for (unsigned i = 0; !running && i < cxl_ssd_count; i++) {
        code = code || was_executed(cxl_ssds[i]);
    }
    if (code) {
        write_place(PERSIST_READS_CODE, 0);
    }
    if (!running) {
        fflush(reads.file);
    }
}

void persist_reads_begin(FILE *file)
{
    if (!reads.file) {
        qemu_add_vm_change_state_handler(vm_stopped, NULL);
        timed_mem_set_reads(persist_reads_access);
    }
    reads.file = file;
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        const MemDeviceConfig *config = &cxl_ssds[i]->config;
        uint64_t lines = (config->capacity_bytes - config->volatile_bytes) /
                         MEMSYS_LINE_BYTES;

        /* The host zeroes the pages as they are used. */
        g_free(reads.devices[i].known);
        g_free(reads.devices[i].read);
        reads.devices[i].known = g_new0(uint64_t, lines);
        reads.devices[i].read = bitmap_new(lines);
    }
}
