/*
 * Which lines of the devices' persistent memory the guest has read.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_MEM_PERSIST_READS_H
#define HW_MEM_PERSIST_READS_H

/*
 * From now on write to @file, and to no other one any more, each line that the
 * guest reads, once and in the order of their first loads: the number of the
 * device and the DPA, 8 bytes each, little-endian. A line of which the guest
 * has stored all that it loads is not read. Complete when the VM stops; if code
 * of a device was executed, which is no load, the last one is of the device
 * PERSIST_READS_CODE. Not in a region of interest.
 */
#define PERSIST_READS_CODE UINT64_MAX

void persist_reads_begin(FILE *file);

#endif
