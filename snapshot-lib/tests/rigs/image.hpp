// SPDX-License-Identifier: BSD-3-Clause
//
// The log file and the data file after a power cut: one medium of the rig power_cut, with the data before the log. The
// runtime writes whole lines past the caches, so a line travels in any number of words, and is durable with the next
// fence of its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "media.hpp"
#include "recorder.hpp"

class Image {
  public:
    Image() = default;
    Image(size_t log_bytes, size_t data_bytes); // zeros; both round up to whole lines
    Image(Medium medium, size_t data_bytes) : bytes(std::move(medium)), data_bytes(data_bytes) {}

    uint8_t *logBytes() { return bytes.data() + data_bytes; }
    uint8_t *dataBytes() { return bytes.data(); }
    size_t logSize() const { return bytes.size() - data_bytes; }
    size_t dataSize() const { return data_bytes; }
    const Medium &medium() const { return bytes; }

    void resizeLog(size_t log_bytes); // new lines are zeros
    void resizeData(size_t size);     // new lines are zeros

  private:
    Medium bytes;
    size_t data_bytes = 0;
};

Image imageOf(const uint8_t *log, size_t log_bytes, const uint8_t *data, size_t data_bytes);

// Recorded addresses, as places in an image.
struct Mapping {
    const uint8_t *log, *data;
    size_t log_bytes, data_bytes;
};

// The content that is certain after a power cut behind all events: the data that fences waited for.
Image durableImage(const Image &before, const Mapping &mapping, const std::vector<PersistEvent> &events);

// Visits the images possible at every position: all, if at most `exhaustive_lines` lines have one change each, else
// twice `samples` seeded ones.
void exploreCrashes(const Image &before, const Mapping &mapping, const std::vector<PersistEvent> &events,
                    size_t exhaustive_lines, size_t samples, uint64_t seed,
                    const std::function<void(const Crash &, Image &)> &visit);
