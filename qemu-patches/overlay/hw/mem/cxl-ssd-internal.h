/*
 * CXL memory-semantic SSD: what its parts know of each other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MEM_CXL_SSD_INTERNAL_H
#define HW_MEM_CXL_SSD_INTERNAL_H

/* Listen to the doorbell of regions of interest, marks and power cuts. */
void cxl_ssd_roi_init(void);

/* The power fails now; the VM stops for good. In the vCPU thread. */
void cxl_ssd_power_cut(void);

/* The last progress mark of the guest. */
uint32_t cxl_ssd_last_mark(void);

#endif
