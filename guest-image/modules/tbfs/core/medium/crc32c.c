/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "crc32c.h"

/* One bit at a time is fast enough: the input is 128 bytes, and calls are rare. */
uint32_t crc32c(const void *bytes, size_t count) {
    const uint8_t *byte = bytes;
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        sum ^= byte[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78u : 0);
    }
    return ~sum;
}
