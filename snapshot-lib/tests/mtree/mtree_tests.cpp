// SPDX-License-Identifier: BSD-3-Clause
//
// The tree against std::map, its layout, the announcements of a change and the number of lines it changes.
#include <gtest/gtest.h>

#include "announced_engine.hpp"
#include "mtree_model.hpp"

namespace {

using namespace workloads;
using Map = MtreeMap<AnnouncedEngine>;
constexpr size_t PoolBytes = 4 << 20;

std::string keyOfEight(uint64_t number) {
    number = __builtin_bswap64(number);
    return {reinterpret_cast<const char *>(&number), sizeof(number)};
}

// One change on both; the results of the call must fit.
void change(Random &random, Map &map, Model &model, const std::string &key) {
    uint64_t value = random.next(), commits = map.commits();
    bool is_there = model.count(key), done = true;
    switch (random.below(8)) {
    case 0 ... 3:
        map.insert(key, value);
        model[key] = value;
        break;
    case 4:
        done = map.update(key, value);
        ASSERT_EQ(done, is_there);
        if (is_there)
            model[key] = value;
        break;
    default:
        done = map.erase(key);
        ASSERT_EQ(done, is_there);
        model.erase(key);
    }
    ASSERT_EQ(map.commits(), commits + done);
}

TEST(Mtree, DoesWhatAMapDoes) {
    for (uint64_t seed = 1; seed <= 12; seed++) {
        AnnouncedEngine engine(PoolBytes);
        Map map(engine);
        Model model;
        Random random(seed);
        for (int i = 0; i < 6000; i++) {
            std::string key = randomKey(random);
            ASSERT_EQ(map.find(key), model.count(key) ? std::optional(model[key]) : std::nullopt);
            change(random, map, model, key);
            if (i % 500 == 0)
                ASSERT_EQ(difference(map, model), "") << "seed " << seed << ", change " << i;
        }
        while (!model.empty()) {
            auto victim = model.lower_bound(randomKey(random));
            std::string key = victim == model.end() ? model.begin()->first : victim->first;
            ASSERT_TRUE(map.erase(key));
            model.erase(key);
            if (model.size() % 200 == 0)
                ASSERT_EQ(difference(map, model), "") << "seed " << seed << ", " << model.size() << " keys left";
        }
        MtreeCheck check(map);
        EXPECT_EQ(check.problem(), "");
        EXPECT_EQ(check.borders, 1u); // all other nodes were given back
        EXPECT_EQ(check.interiors, 0u);
    }
}

TEST(Mtree, ScansFromAnyKeyToAnyLimit) {
    AnnouncedEngine engine(PoolBytes);
    Map map(engine);
    Model model;
    Random random(5);
    for (int i = 0; i < 3000; i++)
        change(random, map, model, randomKey(random));
    for (int i = 0; i < 3000; i++) {
        std::string from = randomKey(random);
        uint64_t limit = random.below(30);
        Model::iterator at = model.lower_bound(from);
        auto found = scanned(map, from, limit);
        for (auto &[key, value] : found) {
            ASSERT_NE(at, model.end());
            ASSERT_EQ(key, at->first);
            ASSERT_EQ(value, at++->second);
        }
        ASSERT_TRUE(found.size() == limit || at == model.end());
    }
}

// A transaction that is undone leaves the tree as it was, with its blocks in memory free for reuse.
TEST(Mtree, CanBeUndone) {
    AnnouncedEngine engine(PoolBytes);
    Map map(engine);
    Model model;
    Random random(7);
    int undone = 0;
    for (int i = 0; i < 3000; i++) {
        engine.is_undone = random.below(3) == 0;
        Model ahead = model;
        try {
            change(random, map, ahead, randomKey(random));
            model = std::move(ahead);
        } catch (const AnnouncedEngine::Undone &) {
            undone++;
        }
        if (i % 50 == 0)
            ASSERT_EQ(difference(map, model), "") << "change " << i;
    }
    EXPECT_GT(undone, 800);
}

// Of each place in the source that announces something.
TEST(Mtree, AForgottenAnnouncementIsNoticed) {
    auto run = [](unsigned forgotten, std::set<unsigned> &places) {
        AnnouncedEngine engine(PoolBytes);
        engine.forgotten = forgotten;
        Map map(engine);
        Model model;
        Random random(3);
        for (int i = 0; i < 6000; i++)
            change(random, map, model, randomKey(random));
        while (!model.empty()) {
            ASSERT_TRUE(map.erase(model.begin()->first));
            model.erase(model.begin());
        }
        places = engine.places;
    };
    std::set<unsigned> places, ignored;
    run(0, places);
    EXPECT_GT(places.size(), 20u);
    for (unsigned place : places)
        EXPECT_THROW(run(place, ignored), AnnouncedEngine::NotAnnounced) << "mtree_map.hpp:" << place;
}

TEST(Mtree, HasThePublishedLayout) {
    EXPECT_EQ(sizeof(mtree::Border), 5u * 64);
    EXPECT_EQ(alignof(mtree::Border), 64u);
    EXPECT_EQ(mtree::Permutation::Slots, 15u);
    EXPECT_EQ(std::size(mtree::Interior{}.children), 16u);
    // Keys with one slice share a node, and whatever is behind it is one slot: ten fit, and more keys are no more
    // slots.
    AnnouncedEngine engine(PoolBytes);
    Map map(engine);
    for (size_t length = 0; length <= 40; length++)
        map.insert(std::string(length, '\0'), length);
    MtreeCheck check(map);
    EXPECT_EQ(check.problem(), "");
    EXPECT_EQ(check.layers, 5u); // the key of 40 zeros lies alone behind the fourth layer's slice
    EXPECT_EQ(check.borders, 5u);
}

TEST(Mtree, HasABalancedShape) {
    AnnouncedEngine engine(PoolBytes);
    Map map(engine);
    for (uint64_t i = 0; i < 4000; i++)
        map.insert(keyOfEight(splitmix64(i)), i);
    MtreeCheck check(map);
    EXPECT_EQ(check.problem(), "");
    EXPECT_LT(check.borders, 4000 / 15 * 16 / 10); // at least 10 of 15 slots in use, on average
    EXPECT_LT(check.interiors, check.borders / 6);
}

TEST(Mtree, TakesKeysOfEachLengthAndRefusesLonger) {
    AnnouncedEngine engine(4 * PoolBytes);
    Map map(engine);
    Model model;
    for (size_t length = 0; length <= mtree::KeyBytesMax; length++) {
        std::string key(length, static_cast<char>(length));
        map.insert(key, length);
        model[key] = length;
    }
    EXPECT_EQ(difference(map, model), "");
    std::string longer(mtree::KeyBytesMax + 1, 'k');
    EXPECT_THROW(map.insert(longer, 1), std::invalid_argument);
    EXPECT_FALSE(map.update(longer, 1));
    EXPECT_FALSE(map.erase(longer));
    EXPECT_EQ(map.find(longer), std::nullopt);
    EXPECT_EQ(difference(map, model), "");
}

TEST(Mtree, LoadsAndCountsNoCommit) {
    AnnouncedEngine engine(PoolBytes);
    Map map(engine);
    map.load(100, [](uint64_t i) { return std::pair(keyOfEight(i), i); });
    EXPECT_EQ(map.commits(), 0u);
    EXPECT_EQ(map.recordsLoaded(), 100u);
    EXPECT_EQ(map.size(), 100u);
    EXPECT_EQ(MtreeCheck(map).problem(), "");
}

struct LineCounts {
    std::map<size_t, unsigned> changes; // how many changed so many lines
    unsigned all = 0, lines = 0, largest = 0;

    void add(const AnnouncedEngine &engine) {
        auto count = static_cast<unsigned>(engine.lines.size());
        changes[count]++;
        all++;
        lines += count;
        largest = std::max(largest, count);
    }
    double mean() const { return static_cast<double>(lines) / all; }
    void print(const char *what) const {
        printf("%s: %.2f lines,", what, mean());
        for (auto [count, times] : changes)
            printf(" %zu:%u", count, times);
        printf("\n");
    }
};

class MtreeLines : public testing::TestWithParam<bool> {
  protected:
    // As YCSB has them, or eight bytes.
    std::string key(uint64_t number) const {
        return GetParam() ? "user" + std::to_string(splitmix64(number) >> 1) : keyOfEight(splitmix64(number));
    }
};

// Lines that a change leaves changed: the root's with its counts, the node's first, the line of a slice, that of a link
// and a record's; a slice and a link may share a line, and so may a slice and the first. An update has a new record
// beside the old, which goes to those that are free. The tests above cover splits.
TEST_P(MtreeLines, AreFewAndCounted) {
    constexpr uint64_t keys = 4000;
    AnnouncedEngine engine(PoolBytes);
    Map map(engine);
    LineCounts inserts, updates, removals;
    for (uint64_t i = 0; i < keys; i++) {
        map.insert(key(i), i);
        inserts.add(engine);
    }
    map.update(key(0), 1); // from here on a record is made of one that is free
    for (uint64_t i = 1; i < keys; i++) {
        map.update(key(i), keys + i);
        updates.add(engine);
    }
    for (uint64_t i = 0; i < keys; i++) {
        map.erase(key(i));
        removals.add(engine);
    }
    inserts.print("insert");
    updates.print("update");
    removals.print("remove");
    EXPECT_EQ(updates.changes.begin()->first, 4u); // root, version, link, one line with both records
    EXPECT_LE(updates.largest, 5u);
    EXPECT_LT(inserts.mean(), GetParam() ? 7.0 : 6.0);
    EXPECT_LT(removals.mean(), 4.0);
    EXPECT_EQ(removals.changes.begin()->first, 3u); // root, permutation, record
}
INSTANTIATE_TEST_SUITE_P(Keys, MtreeLines, testing::Bool(),
                         [](auto &info) { return info.param ? "OfYcsb" : "OfEightBytes"; });

} // namespace
