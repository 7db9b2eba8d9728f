// SPDX-License-Identifier: BSD-3-Clause
//
// The histogram of latencies against the values themselves.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "latency.hpp"
#include "random.hpp"

namespace {

using namespace workloads;

TEST(Latency, EachNanosecondIsInTheBucketThatEndsNoMoreThanA64thAfterIt) {
    std::vector<uint64_t> values;
    for (uint64_t ns = 0; ns < 5000; ns++)
        values.push_back(ns);
    for (int octave = 13; octave < 36; octave++)
        for (uint64_t ns : {(1ull << octave) - 1, 1ull << octave, (1ull << octave) + 1})
            values.push_back(ns);
    size_t bucket_before = 0;
    for (uint64_t ns : values) {
        size_t bucket = LatencyHistogram::bucketOf(ns);
        uint64_t last = LatencyHistogram::lastOf(bucket);
        EXPECT_GE(last, ns);
        EXPECT_LE(last - ns, ns / 64);
        EXPECT_GE(bucket, bucket_before);
        EXPECT_EQ(LatencyHistogram::bucketOf(last), bucket);
        EXPECT_EQ(LatencyHistogram::bucketOf(last + 1), bucket + 1);
        bucket_before = bucket;
    }
}

TEST(Latency, QuantilesAreThoseOfTheSortedValues) {
    Random random(1);
    LatencyHistogram histogram;
    std::vector<uint64_t> sorted;
    for (int i = 0; i < 12345; i++) {
        uint64_t ns = random.next() >> (34 + random.below(24)); // 64 ns to 1 s, every octave as often
        histogram.record(ns);
        sorted.push_back(ns);
    }
    std::sort(sorted.begin(), sorted.end());
    for (uint64_t per_100000 : {1u, 50'000u, 90'000u, 99'000u, 99'900u, 99'990u, 100'000u}) {
        uint64_t exact = sorted[(sorted.size() * per_100000 + 99'999) / 100'000 - 1];
        EXPECT_GE(histogram.quantile(per_100000), exact);
        EXPECT_LE(histogram.quantile(per_100000), exact + exact / 64);
    }
    EXPECT_EQ(histogram.count(), sorted.size());
    EXPECT_EQ(histogram.max(), sorted.back());
    EXPECT_EQ(histogram.quantile(100'000), sorted.back());
}

TEST(Latency, WhatIsLongerThanTheLastBucketIsKeptAsTheLongest) {
    LatencyHistogram histogram;
    histogram.record(3);
    histogram.record(UINT64_MAX);
    EXPECT_EQ(histogram.max(), UINT64_MAX);
    EXPECT_EQ(histogram.quantile(50'000), 3u);
    EXPECT_EQ(histogram.text(), "3:1 68719476735:1");
}

} // namespace
