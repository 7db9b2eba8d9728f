// SPDX-License-Identifier: BSD-3-Clause
//
// The possible contents of a line after a power cut, by the rules of persist.h on the order of stores.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core.hpp"
#include "crash_states.hpp"

namespace {

constexpr uint64_t Seeds = 64;
constexpr size_t Words = 3; // of a line, which are compared

struct alignas(LineBytes) Line {
    uint64_t words[LineBytes / 8];
};

void copyPastCaches(Line &line, size_t word, uint64_t value) { pm_copy_nt(&line.words[word], &value, 8); }

// The first words of the line in each state at the end of `work`, as digits: in "102" the second word is 0.
std::set<std::string> statesAfter(const std::function<void(Line &)> &work) {
    Line line = {};
    Recorder recording(reinterpret_cast<const uint8_t *>(&line));
    recorder = &recording;
    work(line);
    recorder = nullptr;
    std::set<std::string> found;
    auto visit = [&](Medium &medium, bool is_end) {
        std::string content;
        for (size_t word = 0; word < Words; word++)
            content += std::to_string(medium[8 * word]);
        if (is_end)
            found.insert(content);
    };
    for (uint64_t seed = 0; seed < Seeds; seed++)
        exploreCrashes(Medium(LineBytes), recording.events, {.exhaustive = 256, .random = 16}, seed, visit);
    return found;
}

using States = std::set<std::string>;

TEST(CrashStates, WordsOfTwoCopiesPastTheCachesArriveInAnyOrder) {
    EXPECT_EQ(statesAfter([](Line &line) {
                  copyPastCaches(line, 1, 1);
                  copyPastCaches(line, 0, 1);
              }),
              (States{"000", "010", "100", "110"}));
}

TEST(CrashStates, CopiesToOneWordArriveInTheirOrder) {
    EXPECT_EQ(statesAfter([](Line &line) {
                  copyPastCaches(line, 0, 1);
                  copyPastCaches(line, 0, 2);
              }),
              (States{"000", "100", "200"}));
}

TEST(CrashStates, AFenceIsForTheWordsThatPassedTheCaches) {
    EXPECT_EQ(statesAfter([](Line &line) {
                  pm_store8(&line.words[1], 1);
                  copyPastCaches(line, 0, 1);
                  pm_fence();
              }),
              (States{"100", "110"}));
}

TEST(CrashStates, AFenceIsForWhatComesBeforeThoseWords) {
    EXPECT_EQ(statesAfter([](Line &line) {
                  pm_store8(&line.words[1], 1);
                  pm_store8(&line.words[0], 1);
                  copyPastCaches(line, 0, 2);
                  pm_fence();
              }),
              (States{"210"}));
}

TEST(CrashStates, ACachedStoreMayArriveBeforeAnEarlierCopy) {
    EXPECT_EQ(statesAfter([](Line &line) {
                  copyPastCaches(line, 0, 1);
                  pm_store8(&line.words[1], 1);
                  pm_store8(&line.words[2], 1);
              }),
              (States{"000", "010", "011", "100", "110", "111"}));
}

} // namespace
