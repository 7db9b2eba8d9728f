/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CRC-32C (Castagnoli), as in iSCSI and ext4, for bytes that leave the process and are read back. */
#ifndef MODEL_CRC32C_H
#define MODEL_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* The CRC of `count` bytes. `crc` is 0, or the CRC of the bytes before them. */
uint32_t mem_crc32c(uint32_t crc, const void *bytes, size_t count);

#endif
