/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#ifndef TBFS_CRC32C_H
#define TBFS_CRC32C_H

#include "../port.h"

uint32_t crc32c(const void *bytes, size_t count);

#endif
