/*
 * CXL memory-semantic SSD: QMP stubs for emulators without it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-cxl-ssd.h"

CxlSsdInfo *qmp_query_cxl_ssd(Error **errp)
{
    error_setg(errp, "this emulator has no cxl-ssd");
    return NULL;
}
