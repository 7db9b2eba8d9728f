// SPDX-License-Identifier: BSD-3-Clause
//
// Whether overwrites detects a file system that loses the last writes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "overwritten.hpp"

namespace {

using namespace workloads;

class OfAFile : public testing::Test {
  protected:
    OfAFile() { settings.file = testing::TempDir() + "/overwrites-" + std::to_string(getpid()); }
    ~OfAFile() override { std::filesystem::remove(settings.file + "-3"); }

    std::string complaintAfter(std::streamoff at, char value) {
        OverwrittenFile file(settings, 3);
        file.run();
        if (at >= 0) {
            std::fstream other(settings.file + "-3", std::ios::in | std::ios::out | std::ios::binary);
            other.seekp(at);
            other.put(value);
        }
        try {
            file.verify();
        } catch (const std::runtime_error &error) {
            return error.what();
        }
        return "";
    }

    OverwritesSettings settings{.file = "", .times = {3}, .pages = 5, .bytes = 100};
};

TEST_F(OfAFile, WhatWasWrittenLastIsThere) { EXPECT_EQ(complaintAfter(-1, 0), ""); }

TEST_F(OfAFile, MixedCallsAreVerifiedToo) {
    settings.mixed = 500;
    EXPECT_EQ(complaintAfter(-1, 0), "");
    EXPECT_NE(complaintAfter(4096 * 4 + 2000, 'x'), "");
}

TEST_F(OfAFile, OneOtherByteIsNoticed) {
    EXPECT_NE(complaintAfter(4096 * 2 + 4095, 'x').find("other bytes in page 2 than were written"), std::string::npos);
}

TEST(Overwrites, EachTurnHasEachPageOnceAndNoWriteLeavesItsPage) {
    Overwrites numbers(50, 256, 1);
    for (int turn = 0; turn < 20; turn++) {
        std::vector<bool> seen(50);
        for (uint64_t page : numbers.shuffled()) {
            EXPECT_FALSE(seen[page]);
            seen[page] = true;
            EXPECT_LE(numbers.of(page).at + 256, WholeBytes);
        }
    }
    EXPECT_LE(Overwrites(1, WholeBytes, 1).any().at, 0u);
}

} // namespace
