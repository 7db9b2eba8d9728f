// SPDX-License-Identifier: BSD-3-Clause
//
// The generator against the real YCSB client.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "ycsb.hpp"

namespace {

using namespace workloads;

TEST(Ycsb, KeyNames) {
    EXPECT_STREQ(keyOf(0).bytes, "user6284781860667377211");
    EXPECT_STREQ(keyOf(1).bytes, "user8517097267634966620");
    EXPECT_STREQ(keyOf(2).bytes, "user1820151046732198393");
}

// Euler-Maclaurin from the 100,000th term on.
TEST(Ycsb, ZetaOfTheScrambledZipfian) {
    constexpr double theta = 0.99, n = 1e10, m = 1e5;
    double integral = (std::pow(n, 1 - theta) - std::pow(m, 1 - theta)) / (1 - theta);
    double zeta = Zipfian::zeta(static_cast<uint64_t>(m)) + integral + (std::pow(n, -theta) - std::pow(m, -theta)) / 2 +
                  theta / 12 * (std::pow(m, -theta - 1) - std::pow(n, -theta - 1));
    EXPECT_NEAR(zeta, 26.46902820178302, 1e-6);
}

// Shares over a million requests; the standard error is 0.02 %.
TEST(Ycsb, HottestKeysOfWorkloadC) {
    constexpr uint64_t operations = 1'000'000;
    RequestStream stream(mixOf("C"), 1000, operations, 7);
    std::map<uint64_t, uint64_t> hits;
    for (uint64_t i = 0; i < operations; i++)
        hits[stream.next().key_number]++;
    EXPECT_LE(hits.rbegin()->first, 999u);
    std::vector<std::pair<uint64_t, uint64_t>> ranking;
    for (auto [key_number, count] : hits)
        ranking.push_back({count, key_number});
    std::sort(ranking.rbegin(), ranking.rend());
    EXPECT_EQ(ranking[0].second, 144u);
    EXPECT_STREQ(keyOf(ranking[0].second).bytes, "user1573987489603120213");
    EXPECT_STREQ(keyOf(ranking[1].second).bytes, "user5817347222824138717");
    EXPECT_NEAR(static_cast<double>(ranking[0].first) / operations, 0.03858, 0.0008);
    EXPECT_NEAR(static_cast<double>(ranking[1].first) / operations, 0.01988, 0.0006);
}

TEST(Ycsb, RankProbabilitiesOfTheZipfian) {
    constexpr uint64_t draws = 1'000'000;
    Zipfian zipfian(10'000'000'001, 26.46902820178302);
    Random random(3);
    uint64_t first = 0, second = 0;
    for (uint64_t i = 0; i < draws; i++) {
        uint64_t rank = zipfian.next(random);
        first += rank == 0;
        second += rank == 1;
    }
    EXPECT_NEAR(static_cast<double>(first) / draws, 0.03778, 0.0008);
    EXPECT_NEAR(static_cast<double>(second) / draws, 0.01902, 0.0006);
}

struct Expected {
    const char *workload;
    double read, update, insert, scan, read_modify_write;
};

void PrintTo(const Expected &mix, std::ostream *to) { *to << mix.workload; } // in the name of a test

class Mixes : public testing::TestWithParam<Expected> {};

TEST_P(Mixes, Proportions) {
    constexpr uint64_t operations = 200'000;
    std::map<Op, double> share;
    RequestStream stream(mixOf(GetParam().workload), 1000, operations, 5);
    for (uint64_t i = 0; i < operations; i++)
        share[stream.next().op] += 1.0 / operations;
    EXPECT_NEAR(share[Op::Read], GetParam().read, 0.005);
    EXPECT_NEAR(share[Op::Update], GetParam().update, 0.005);
    EXPECT_NEAR(share[Op::Insert], GetParam().insert, 0.005);
    EXPECT_NEAR(share[Op::Scan], GetParam().scan, 0.005);
    EXPECT_NEAR(share[Op::ReadModifyWrite], GetParam().read_modify_write, 0.005);
}

INSTANTIATE_TEST_SUITE_P(Ycsb, Mixes,
                         testing::Values(Expected{"A", .5, .5, 0, 0, 0}, Expected{"B", .95, .05, 0, 0, 0},
                                         Expected{"C", 1, 0, 0, 0, 0}, Expected{"D", .95, 0, .05, 0, 0},
                                         Expected{"E", 0, 0, .05, .95, 0}, Expected{"F", .5, 0, 0, 0, .5},
                                         Expected{"G", 0, 1, 0, 0, 0}));

TEST(Ycsb, ScanLengthsAreUniformFromOneToHundred) {
    std::map<uint8_t, uint64_t> lengths;
    RequestStream stream(mixOf("E"), 1000, 200'000, 5);
    for (int i = 0; i < 200'000; i++)
        if (Request request = stream.next(); request.op == Op::Scan)
            lengths[request.scan_length]++;
    EXPECT_EQ(lengths.size(), 100u);
    EXPECT_EQ(lengths.begin()->first, 1);
    EXPECT_EQ(lengths.rbegin()->first, 100);
    for (auto [length, count] : lengths)
        EXPECT_NEAR(static_cast<double>(count), 1900, 250) << int{length};
}

// Latest: the newest record is the most frequent; nothing is read before it was inserted.
TEST(Ycsb, WorkloadDReadsTheLatest) {
    uint64_t newest = 999, reads = 0, of_newest = 0;
    RequestStream stream(mixOf("D"), 1000, 100'000, 5);
    for (int i = 0; i < 100'000; i++) {
        Request request = stream.next();
        if (request.op == Op::Insert) {
            EXPECT_EQ(request.key_number, ++newest);
            continue;
        }
        ASSERT_LE(request.key_number, newest);
        reads++;
        of_newest += request.key_number == newest;
    }
    double zeta = Zipfian::zeta(3500); // the store grows from 1000 to 6000 records
    EXPECT_NEAR(static_cast<double>(of_newest) / static_cast<double>(reads), 1 / zeta, 0.008);
}

TEST(Ycsb, InsertsOfWorkloadEAreChosenByLaterScans) {
    uint64_t records = 1000, beyond = 0;
    RequestStream stream(mixOf("E"), 1000, 100'000, 5);
    for (int i = 0; i < 100'000; i++) {
        Request request = stream.next();
        if (request.op == Op::Insert)
            records++;
        else
            ASSERT_LT(request.key_number, records);
        beyond += request.op == Op::Scan && request.key_number >= 1000;
    }
    EXPECT_GT(beyond, 10'000u);
}

TEST(Ycsb, StreamRepeatsWithItsSeedOnly) {
    RequestStream one(mixOf("A"), 1000, 100, 1), same(mixOf("A"), 1000, 100, 1), other(mixOf("A"), 1000, 100, 2);
    bool differs = false;
    for (int i = 0; i < 100; i++) {
        Request a = one.next(), b = same.next(), c = other.next();
        EXPECT_EQ(a.key_number, b.key_number);
        EXPECT_EQ(a.value, b.value);
        differs |= a.key_number != c.key_number;
    }
    EXPECT_TRUE(differs);
}

TEST(Ycsb, UnknownWorkloadIsRefused) {
    EXPECT_THROW(mixOf("H"), std::invalid_argument);
    EXPECT_THROW(mixOf(""), std::invalid_argument);
}

} // namespace
