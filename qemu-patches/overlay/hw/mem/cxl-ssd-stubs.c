/*
 * CXL memory-semantic SSD: stubs for emulators without it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "hw/mem/cpu-timing.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-cxl-ssd.h"

void cpu_timing_cpuid(uint32_t leaf, uint32_t count, uint32_t regs[4])
{
}

CxlSsdInfo *qmp_query_cxl_ssd(Error **errp)
{
    error_setg(errp, "this emulator has no cxl-ssd");
    return NULL;
}

void qmp_cxl_ssd_set(const char *device, const char *name, QObject *value,
                     Error **errp)
{
    error_setg(errp, "this emulator has no cxl-ssd");
}

void qmp_cxl_ssd_power_cut(bool has_at_ps, uint64_t at_ps, bool has_at_event,
                           uint64_t at_event, Error **errp)
{
    error_setg(errp, "this emulator has no cxl-ssd");
}

void qmp_cxl_ssd_job_await(Error **errp)
{
    error_setg(errp, "this emulator has no cxl-ssd");
}

void qmp_cxl_ssd_job_run(const char *file, const char *media,
                         const char *reads, Error **errp)
{
    error_setg(errp, "this emulator has no cxl-ssd");
}

void qmp_cxl_ssd_job_run_in_copy(const char *file, const char *media,
                                 const char *reads, Error **errp)
{
    error_setg(errp, "this emulator has no cxl-ssd");
}
