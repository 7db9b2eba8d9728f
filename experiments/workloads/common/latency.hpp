// SPDX-License-Identifier: BSD-3-Clause
//
// The latencies of single operations. A histogram with a fixed number of counters: one per nanosecond below 128 ns,
// then 64 per octave, so that a value is known to 1/64, and the longest exactly. Counting an operation touches one line
// of the counters, and operations of similar length touch the same line, so that recording disturbs the measured caches
// as little as possible.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "report.hpp"

namespace workloads {

class LatencyHistogram {
  public:
    void record(uint64_t ns) {
        counts[bucketOf(ns)]++;
        total++;
        longest = std::max(longest, ns);
    }

    uint64_t count() const { return total; }
    uint64_t max() const { return longest; }

    // The shortest time that `per_100000` of 100,000 operations did not exceed, rounded up to the end of its bucket.
    uint64_t quantile(uint64_t per_100000) const {
        uint64_t rank = std::max<uint64_t>(1, (total * per_100000 + 99'999) / 100'000), seen = 0;
        for (size_t bucket = 0; bucket < Buckets; bucket++)
            if ((seen += counts[bucket]) >= rank)
                return std::min(lastOf(bucket), longest);
        return longest;
    }

    // "NS:COUNT" for each bucket that is not empty, named by its last nanosecond, the shortest first.
    std::string text() const {
        std::string words;
        for (size_t bucket = 0; bucket < Buckets; bucket++)
            if (counts[bucket])
                words += (words.empty() ? "" : " ") + std::to_string(std::min(lastOf(bucket), longest)) + ":" +
                         std::to_string(counts[bucket]);
        return words;
    }

    static size_t bucketOf(uint64_t ns) {
        ns = std::min(ns, Longest);
        unsigned shift = ns >> (OctaveBits + 1) ? static_cast<unsigned>(std::bit_width(ns)) - (OctaveBits + 1) : 0;
        return (static_cast<size_t>(shift) << OctaveBits) + (ns >> shift);
    }

    static uint64_t lastOf(size_t bucket) {
        size_t octave = bucket >> OctaveBits;
        unsigned shift = octave < 2 ? 0 : static_cast<unsigned>(octave - 1);
        return ((bucket - (static_cast<size_t>(shift) << OctaveBits) + 1) << shift) - 1;
    }

  private:
    static constexpr unsigned OctaveBits = 6;
    static constexpr uint64_t Longest = (1ull << 36) - 1; // 69 s; longer times count as this, except for max()
    static constexpr size_t Buckets = (36 - OctaveBits + 1) << OctaveBits;

    std::array<uint32_t, Buckets> counts{};
    uint64_t total = 0, longest = 0;
};

// One row for each kind of operation that occurred.
template <size_t Kinds> class Latencies {
  public:
    // Measures the cost of two reads of `clock` in a row, which is part of each latency: the shortest of 16 pairs, so
    // that it includes no timer tick.
    template <class Clock> void calibrate(Clock &&clock) {
        for (int i = 0; i < 16; i++) {
            uint64_t begin_ns = clock();
            clock_ns = std::min(clock_ns, clock() - begin_ns);
        }
    }

    void record(size_t kind, uint64_t ns) { histograms[kind].record(ns); }

    void print(const Report &heading, const std::array<const char *, Kinds> &names) const {
        for (size_t kind = 0; kind < Kinds; kind++)
            if (histograms[kind].count() > 0)
                rowOf(heading, names[kind], histograms[kind]).print();
    }

  private:
    Report rowOf(Report row, const char *name, const LatencyHistogram &of) const {
        row.add("operation", name).add("count", of.count()).add("clock_ns", clock_ns);
        row.add("p50_ns", of.quantile(50'000)).add("p90_ns", of.quantile(90'000)).add("p99_ns", of.quantile(99'000));
        row.add("p99_9_ns", of.quantile(99'900)).add("p99_99_ns", of.quantile(99'990)).add("max_ns", of.max());
        row.add("histogram", of.text());
        return row;
    }

    std::array<LatencyHistogram, Kinds> histograms;
    uint64_t clock_ns = UINT64_MAX;
};

} // namespace workloads
