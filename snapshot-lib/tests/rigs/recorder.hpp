// SPDX-License-Identifier: BSD-3-Clause
//
// A persistence layer for tests: it does its work and records every change that a power cut could undo.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

constexpr unsigned EveryThread = 0;

struct PersistEvent {
    uint8_t *target; // null: a fence
    unsigned thread; // a fence waits for the writes of its own thread; EveryThread: of all
    std::array<uint8_t, 64> content;
};

struct ResizeEvent {
    std::size_t position; // among the events
    uint64_t bytes;
};

struct Recorder {
    ~Recorder();
    std::vector<PersistEvent> events;
    std::vector<ResizeEvent> resizes; // of the data file
    uint64_t lines() const;
    uint64_t fences() const;
    std::size_t position() const; // so many events; other threads may be writing
};

// Null: writes pass through unrecorded.
extern Recorder *recorder;
