// SPDX-License-Identifier: BSD-3-Clause
//
// The content of persistent memory after a power cut: everything fenced, and any part of the rest, line by line and,
// within a line, word by word.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "recorder.hpp"

// Line-aligned bytes of the log file and the data file.
struct Image {
    struct alignas(64) Line {
        uint8_t bytes[64];
    };
    std::vector<Line> log, data;

    uint8_t *logBytes() { return log.data()->bytes; }
    uint8_t *dataBytes() { return data.data()->bytes; }
    size_t logSize() const { return log.size() * 64; }
    size_t dataSize() const { return data.size() * 64; }
    bool operator==(const Image &) const = delete;
};

Image imageOf(const uint8_t *log, size_t log_bytes, const uint8_t *data, size_t data_bytes);

// Recorded addresses, as places in an image.
struct Mapping {
    const uint8_t *log, *data;
    size_t log_bytes, data_bytes;
};

struct Crash {
    size_t position;  // events before it were issued
    bool is_last;     // all events were issued, the call returned
    uint64_t ordinal; // among the images of this position
};

// The content that is certain after a power cut behind all events: the data that fences waited for.
Image durableImage(const Image &before, const Mapping &mapping, const std::vector<PersistEvent> &events);

// Calls visit for the images possible at every position: all subsets of the unfenced lines if there are at most
// `exhaustive_lines`, else `samples` seeded ones; and as many again with torn lines.
void exploreCrashes(const Image &before, const Mapping &mapping, const std::vector<PersistEvent> &events,
                    size_t exhaustive_lines, size_t samples, uint64_t seed,
                    const std::function<void(const Crash &, Image &)> &visit);
