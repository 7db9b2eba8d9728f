// SPDX-License-Identifier: BSD-3-Clause
//
// The client's verdict on a value that it reads.
#include <gtest/gtest.h>

#include <string>

#include "server.hpp"
#include "value.hpp"

using namespace workloads;

TEST(Value, SaysWhichWriteItIs) {
    Value value(1000);
    std::string bytes(value.fill({7, 12}));
    ASSERT_EQ(bytes.size(), 1000u);
    std::optional<Written> whole = Value::whole(bytes);
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->key_number, 7u);
    EXPECT_EQ(whole->version, 12u);
}

// Half of it of another write, or of another key; a single byte that is another one.
TEST(Value, IsTornIfAnyByteIsAnothers) {
    Value value(128);
    std::string bytes(value.fill({7, 12})), later(value.fill({7, 13})), other(value.fill({8, 12}));
    for (const std::string &with : {later, other})
        for (size_t end = 16; end < bytes.size(); end += 8)
            EXPECT_FALSE(Value::whole(bytes.substr(0, end) + with.substr(end))) << end;
    for (size_t place = 16; place < bytes.size(); place++) {
        std::string changed = bytes;
        changed[place] ^= 1;
        EXPECT_FALSE(Value::whole(changed)) << place;
    }
}

TEST(Server, GivesTheArenaRoomForAllItemsAndThoseUnderWay) {
    ServerOptions options;
    options.value_bytes = 1000;
    options.records = 950; // a page has 963
    EXPECT_EQ(Server::arenaMib(options), 3u);
    options.in_flight = 80;
    EXPECT_EQ(Server::arenaMib(options), 4u);
}

TEST(Server, KnowsItsEnginesAndNamesNoBugs) {
    EXPECT_EQ(traitsOf("none"), nullptr);
    EXPECT_FALSE(traitsOf("volatile")->has_file);
    EXPECT_TRUE(traitsOf("bug-late")->atomic);
    EXPECT_EQ(engineNames(), "volatile, device, msync, snapshot, fams-uffd");
}
