// SPDX-License-Identifier: BSD-3-Clause
//
// Which combinations of changes are visited.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "choices.hpp"

namespace {

std::vector<Choice> choicesOf(const std::vector<size_t> &changes, const Sampling &sampling, uint64_t seed = 1) {
    std::mt19937_64 random(seed);
    std::vector<Choice> found;
    forEachChoice(changes, sampling, random, [&](const Choice &choice) { found.push_back(choice); });
    return found;
}

TEST(Choices, AreAllOnceWhereThereAreFew) {
    std::vector<Choice> found = choicesOf({1, 2}, {.exhaustive = 6});
    EXPECT_EQ(found.size(), 6u);
    EXPECT_EQ(std::set<Choice>(found.begin(), found.end()).size(), 6u);
}

TEST(Choices, OfNothingAreOne) { EXPECT_EQ(choicesOf({}, {}), std::vector<Choice>{Choice()}); }

TEST(Choices, AreNoneAndAllWhereThereAreMany) {
    EXPECT_EQ(choicesOf({1, 2}, {.exhaustive = 5}), (std::vector<Choice>{{0, 0}, {1, 2}}));
}

TEST(Choices, HaveEachThingAloneAndEachThingMissing) {
    std::vector<Choice> found = choicesOf({1, 1, 1}, {.alone = 3});
    const std::set<Choice> expected = {{0, 0, 0}, {1, 1, 1}, {1, 0, 0}, {0, 1, 1},
                                       {0, 1, 0}, {1, 0, 1}, {0, 0, 1}, {1, 1, 0}};
    EXPECT_EQ(std::set<Choice>(found.begin(), found.end()), expected);
}

TEST(Choices, HaveSomeThingsAloneWhereThereAreMoreThanAskedFor) {
    EXPECT_EQ(choicesOf(std::vector<size_t>(100, 1), {.alone = 10}).size(), 2u + 2 * 10);
}

TEST(Choices, AtRandomReachEveryCombination) {
    std::vector<Choice> found = choicesOf({2, 1, 1}, {.random = 1000});
    EXPECT_EQ(std::set<Choice>(found.begin(), found.end()).size(), 12u);
}

TEST(Choices, AtRandomAreThoseOfTheSeed) {
    const std::vector<size_t> changes(40, 3);
    EXPECT_EQ(choicesOf(changes, {.random = 8}, 7), choicesOf(changes, {.random = 8}, 7));
    EXPECT_NE(choicesOf(changes, {.random = 8}, 7), choicesOf(changes, {.random = 8}, 8));
}

} // namespace
