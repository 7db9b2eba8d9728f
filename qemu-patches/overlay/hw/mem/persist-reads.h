/*
 * Which lines of the devices' persistent memory the guest has read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MEM_PERSIST_READS_H
#define HW_MEM_PERSIST_READS_H

/*
 * From now on write to @file, and no longer to an earlier one, each line that
 * the guest reads, once and in the order of their first loads: the number of
 * the device and the DPA, 8 bytes each, little-endian. Outside regions of
 * interest, a line does not count as read if the guest has stored all bytes
 * that it loads from the line. The file is complete when the VM stops. If code
 * on a device was executed, which is not a load, the last record has the device
 * number PERSIST_READS_CODE. Do not call this in a region of interest.
 */
#define PERSIST_READS_CODE UINT64_MAX

void persist_reads_begin(FILE *file);

#endif
