// SPDX-License-Identifier: GPL-2.0-or-later
// Saved flash states as vectors of bytes.
#pragma once

#include <cstdint>
#include <vector>

extern "C" {
#include "base/crc32c.h"
#include "flash/flash.h"
}

inline std::vector<uint8_t> save_flash(const MemFlash &f) {
    std::vector<uint8_t> bytes;
    auto sink = [](void *opaque, const void *more, size_t count) {
        auto *out = static_cast<std::vector<uint8_t> *>(opaque);
        out->insert(out->end(), static_cast<const uint8_t *>(more), static_cast<const uint8_t *>(more) + count);
    };
    mem_flash_save(&f, sink, &bytes);
    return bytes;
}

inline const char *load_flash(MemFlash &f, const std::vector<uint8_t> &bytes) {
    return mem_flash_load(&f, bytes.data(), bytes.size());
}

// Recompute the checksum after the other bytes were changed.
inline void seal(std::vector<uint8_t> &bytes) {
    if (bytes.size() < 4) {
        return;
    }
    uint32_t crc = mem_crc32c(0, bytes.data(), bytes.size() - 4);
    for (int i = 0; i < 4; i++) {
        bytes[bytes.size() - 4 + size_t(i)] = uint8_t(crc >> (8 * i));
    }
}
