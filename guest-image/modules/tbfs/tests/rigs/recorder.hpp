// SPDX-License-Identifier: BSD-3-Clause
//
// The persistence layer of tests: executes each operation, and records it line by line.
#pragma once

#include <cstdint>
#include <vector>

#include "media.hpp"

struct Recorder {
    explicit Recorder(const uint8_t *base) : base(base) {}
    ~Recorder();
    const uint8_t *base;
    bool tears_units = false; // stores of 16 or 64 bytes may arrive word by word
    std::vector<MediaEvent> events;
    uint64_t count(MediaEvent::Kind kind) const;
    uint64_t linesWritten() const; // a line counts once between two fences
};

// Null: stores are executed and not recorded.
extern Recorder *recorder;
