// SPDX-License-Identifier: BSD-3-Clause
//
// The possible contents of a folder after a power cut, rule by rule.
#include <gtest/gtest.h>

#include <set>

#include "folders.hpp"

namespace {

using Kind = FolderEvent::Kind;
using States = std::set<std::string>;

constexpr FolderSampling All = {.steps = {.exhaustive = 1024}, .content = {.exhaustive = 1024}};

FolderEvent made(unsigned file, const char *name) { return {.kind = Kind::Name, .file = file, .name = name}; }
FolderEvent removed(const char *name) { return {.kind = Kind::Name, .name = name}; }
FolderEvent moved(unsigned file, const char *name, const char *to) {
    return {.kind = Kind::Move, .file = file, .name = name, .to = to};
}
FolderEvent sized(unsigned file, uint64_t bytes) { return {.kind = Kind::Size, .file = file, .at = bytes}; }
FolderEvent written(unsigned file, uint64_t at, const char *content, Kind kind = Kind::Written) {
    return {.kind = kind, .file = file, .at = at, .content = content};
}
FolderEvent sync(Kind kind, unsigned file = 0) { return {.kind = kind, .file = file}; }

const Folder OneFile = {.names = {{"a", 1}}, .files = {{1, "...."}}};

// Each state as its names and contents: "a=xx b=".
States statesAfter(const FolderEvents &events, NameRule rule = NameRule::Posix, const Folder &base = OneFile) {
    States found;
    forEachCut(base, events, events.size(), rule, All, [&](const Folder &folder) {
        std::string text;
        for (const auto &[name, file] : folder.names)
            text += (text.empty() ? "" : " ") + name + "=" + folder.files.at(file);
        found.insert(text);
    });
    return found;
}

TEST(Folders, NamesAreThereOrNotEachForItself) {
    EXPECT_EQ(statesAfter({made(2, "b"), removed("a")}), (States{"a=....", "", "a=.... b=", "b="}));
}

TEST(Folders, AMoveIsOneChange) { EXPECT_EQ(statesAfter({moved(1, "a", "b")}), (States{"a=....", "b=...."})); }

TEST(Folders, NamesAreDurableWithTheFolder) {
    EXPECT_EQ(statesAfter({made(2, "b"), sync(Kind::SyncFile, 2)}), (States{"a=....", "a=.... b="}));
    EXPECT_EQ(statesAfter({made(2, "b"), sync(Kind::SyncFolder)}), (States{"a=.... b="}));
}

TEST(Folders, NamesAreDurableWithTheFileBySomeRules) {
    const FolderEvents events = {made(2, "b"), removed("a"), sync(Kind::SyncFile, 2)};
    EXPECT_EQ(statesAfter(events, NameRule::WithFile), (States{"a=.... b=", "b="}));
    EXPECT_EQ(statesAfter(events, NameRule::Journal), (States{"b="}));
}

TEST(Folders, AJournalKeepsTheOrderOfNames) {
    EXPECT_EQ(statesAfter({made(2, "b"), removed("a")}, NameRule::Journal), (States{"a=....", "a=.... b=", "b="}));
}

TEST(Folders, DataBehindASizeThatIsNotDurableIsGone) {
    EXPECT_EQ(statesAfter({sized(1, 6), written(1, 4, "xy"), sync(Kind::SyncContent, 1)}),
              (States{"a=....", "a=....xy"}));
}

TEST(Folders, ContentIsDurableWithTheFile) {
    EXPECT_EQ(statesAfter({written(1, 0, "x"), written(1, 2, "y")}), (States{"a=....", "a=x...", "a=..y.", "a=x.y."}));
    EXPECT_EQ(statesAfter({written(1, 0, "x"), sync(Kind::SyncFile, 2)}), (States{"a=....", "a=x..."}));
    EXPECT_EQ(statesAfter({written(1, 0, "x"), sync(Kind::SyncFile, 1)}), (States{"a=x..."}));
    EXPECT_EQ(statesAfter({written(1, 0, "x"), sync(Kind::Fence)}), (States{"a=....", "a=x..."}));
}

TEST(Folders, StoresThroughAMappingAreDurableWithAFence) {
    EXPECT_EQ(statesAfter({written(1, 0, "x", Kind::Stored), sync(Kind::Fence)}), (States{"a=x..."}));
}

TEST(Folders, ChangesToOnePlaceAreThereInTheirOrder) {
    EXPECT_EQ(statesAfter({written(1, 0, "x"), written(1, 0, "y")}), (States{"a=....", "a=x...", "a=y..."}));
}

TEST(Folders, AFileWithoutANameIsGone) {
    const Folder folder = folderAfter(OneFile, {made(2, "b"), removed("b")}, 2);
    EXPECT_EQ(folder, OneFile);
}

} // namespace
