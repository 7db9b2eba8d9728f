// SPDX-License-Identifier: BSD-3-Clause
//
// The calls of filework, one by one, and whether it detects a file system that loses data.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "file_set.hpp"
#include "flow.hpp"
#include "folder.hpp"

namespace {

using namespace workloads;

// A replacement of a folder that records its files and the calls.
struct RecordedFiles {
    void remove(uint64_t file) {
        calls.push_back("delete");
        EXPECT_EQ(there.erase(file), 1u);
    }
    int create(uint64_t file) {
        calls.push_back("create");
        EXPECT_TRUE(there.emplace(file, 0).second);
        return 1;
    }
    int open(uint64_t file) {
        calls.push_back("open");
        EXPECT_TRUE(there.contains(file));
        return 1;
    }
    void append(int, uint64_t file, WorkFile &of, uint64_t bytes) {
        calls.push_back("append");
        appended.push_back(bytes);
        of.bytes += bytes;
        there[file] += bytes;
    }
    void synchronise(int, uint64_t) { calls.push_back("fsync"); }
    void readAll(int, uint64_t file, const WorkFile &of, std::vector<char> &) {
        calls.push_back("read");
        EXPECT_EQ(there[file], of.bytes);
    }
    void close(int, uint64_t) { calls.push_back("close"); }

    std::map<uint64_t, uint64_t> there; // size of each
    std::vector<std::string> calls;
    std::vector<uint64_t> appended;
};

constexpr uint64_t FilesOfTest = 100;

RecordedFiles preallocated() {
    RecordedFiles files;
    for (uint64_t file = 0; file < FilesOfTest; file++)
        if (FileSet::isPreallocated(file))
            files.there[file] = 0;
    return files;
}

TEST(Filework, VarmailsLoopIsAsPublished) {
    RecordedFiles files = preallocated();
    FileSet set(FilesOfTest);
    FlowThread<RecordedFiles>(Flow::Varmail, files, set, 1, 16384, 1).loop(0);
    EXPECT_EQ(files.calls, (std::vector<std::string>{"delete", "create", "append", "fsync", "close", "open", "read",
                                                     "append", "fsync", "close", "open", "read", "close"}));
}

TEST(Filework, WebproxysLoopIsAsPublished) {
    RecordedFiles files = preallocated();
    FileSet set(FilesOfTest);
    FlowThread<RecordedFiles>(Flow::Webproxy, files, set, 1, 16384, 1).loop(0);
    std::vector<std::string> wanted = {"delete", "create", "append", "close"};
    for (int i = 0; i < 5; i++)
        wanted.insert(wanted.end(), {"open", "read", "close"});
    EXPECT_EQ(files.calls, wanted);
}

TEST(Filework, AsManyFilesAreThereAfterEachLoopAndCallsAreCounted) {
    RecordedFiles files = preallocated();
    FileSet set(FilesOfTest);
    FlowThread<RecordedFiles> thread(Flow::Varmail, files, set, 1, 16384, 1);
    for (uint64_t loop = 0; loop < 500; loop++)
        thread.loop(loop);
    EXPECT_EQ(files.there.size(), FilesOfTest * 8 / 10);
    for (uint64_t file = 0; file < FilesOfTest; file++)
        EXPECT_EQ(set.isPresent(file), files.there.contains(file));
    for (size_t call = 0; call < Calls; call++)
        EXPECT_EQ(static_cast<uint64_t>(std::ranges::count(files.calls, std::string(CallNames[call]))),
                  thread.counts.calls[call]);
    uint64_t appended = 0;
    for (uint64_t bytes : files.appended)
        appended += bytes;
    EXPECT_EQ(thread.counts.written_bytes, appended);
}

TEST(Filework, AppendsAreUniformBelowTheirBound) {
    RecordedFiles files = preallocated();
    FileSet set(FilesOfTest);
    FlowThread<RecordedFiles> thread(Flow::Varmail, files, set, 1, 16384, 1);
    for (uint64_t loop = 0; loop < 5000; loop++)
        thread.loop(loop);
    std::vector<uint64_t> quarters(4);
    for (uint64_t bytes : files.appended)
        quarters.at(bytes / 4096)++;
    for (uint64_t count : quarters)
        EXPECT_NEAR(static_cast<double>(count), 2500, 150); // 3 sigma of 10,000 draws are 130
}

TEST(Filework, ALoopIsTheSameWhoeverMakesIt) {
    std::vector<std::vector<uint64_t>> appended;
    for (uint64_t threads : {1, 3}) {
        RecordedFiles files = preallocated();
        FileSet set(FilesOfTest);
        std::vector<FlowThread<RecordedFiles>> hands(threads,
                                                     FlowThread<RecordedFiles>(Flow::Varmail, files, set, 7, 16384, 1));
        for (uint64_t loop = 0; loop < 100; loop++)
            hands[loop % threads].loop(loop);
        appended.push_back(files.appended);
    }
    EXPECT_EQ(appended[0], appended[1]);
}

TEST(Filework, SizesAreGammaOfShape1AndAHalf) {
    Random random(1);
    double sum = 0, squares = 0;
    constexpr int Draws = 200'000;
    for (int i = 0; i < Draws; i++) {
        auto bytes = static_cast<double>(gammaBytes(random, 32768));
        sum += bytes;
        squares += bytes * bytes;
    }
    double mean = sum / Draws, deviation = std::sqrt(squares / Draws - mean * mean);
    EXPECT_NEAR(mean, 32768, 300);
    EXPECT_NEAR(deviation, 32768 / std::sqrt(1.5), 500);
}

TEST(Filework, AFileThatIsTakenIsNobodyElses) {
    Random random(1);
    FileSet set(10);
    std::vector<bool> taken(10);
    for (int i = 0; i < 8; i++) {
        uint64_t file = set.takePresent(random);
        EXPECT_FALSE(taken[file]);
        EXPECT_FALSE(set.isPresent(file));
        taken[file] = true;
    }
    uint64_t last = set.takeAbsent(random), other = set.takeAbsent(random);
    EXPECT_FALSE(taken[last] || taken[other] || last == other);
    set.giveBack(last, true);
    EXPECT_EQ(set.takePresent(random), last);
}

// Files of a real folder, and the faults in them that must be detected.
class OfAFolder : public testing::Test {
  protected:
    OfAFolder() {
        std::filesystem::remove_all(path);
        std::filesystem::create_directories(path);
        folder = std::make_unique<Folder>(path, FilesOfTest, 7, 512);
        Random random(1);
        for (uint64_t file = 0; file < FilesOfTest; file++)
            if (FileSet::isPreallocated(file)) {
                set[file].tag = file;
                int opened = folder->create(file);
                folder->append(opened, file, set[file], 1000 + file);
                folder->close(opened, file);
            }
        FlowThread<Folder> thread(Flow::Varmail, *folder, set, 1, 512, 4096);
        for (uint64_t loop = 0; loop < 200; loop++)
            thread.loop(loop);
        folder->synchroniseAll();
        while (!set.isPresent(present))
            present++;
        while (set.isPresent(absent))
            absent++;
    }
    ~OfAFolder() override { std::filesystem::remove_all(path); }

    void verify() {
        std::vector<char> buffer(4096);
        folder->verify(set, buffer);
    }
    std::string complaint() {
        try {
            verify();
        } catch (const std::exception &error) {
            return error.what();
        }
        return "";
    }

    std::string path = testing::TempDir() + "/filework-" + std::to_string(getpid());
    FileSet set{FilesOfTest};
    std::unique_ptr<Folder> folder;
    uint64_t present = 0, absent = 0;
};

TEST_F(OfAFolder, WhatWasWrittenIsThere) { EXPECT_NO_THROW(verify()); }

TEST_F(OfAFolder, OneOtherByteIsNoticed) {
    std::fstream file(folder->name(present), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(set[present].bytes - 1));
    char last = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(set[present].bytes - 1));
    file.put(last);
    file.close();
    EXPECT_NE(complaint().find("other bytes"), std::string::npos);
}

TEST_F(OfAFolder, AShorterFileIsNoticed) {
    std::filesystem::resize_file(folder->name(present), set[present].bytes - 1);
    EXPECT_NE(complaint().find("were written"), std::string::npos);
}

TEST_F(OfAFolder, AFileThatIsBackIsNoticed) {
    std::ofstream(folder->name(absent)).put('x');
    EXPECT_NE(complaint().find("was removed"), std::string::npos);
}

TEST_F(OfAFolder, AFileThatIsGoneIsNoticed) {
    std::filesystem::remove(folder->name(present));
    EXPECT_NE(complaint().find("cannot open " + folder->name(present)), std::string::npos);
}

} // namespace
