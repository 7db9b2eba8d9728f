// SPDX-License-Identifier: BSD-3-Clause
//
// Memory that the library maps is unmapped when a file is closed, and the log of a thread that has ended is used again.
#include <atomic>
#include <thread>

#include "file_test.hpp"

extern std::atomic<long> library_pages;

namespace {

constexpr size_t Page = 4096, Pages = 16;

class Memory : public FileTest, public testing::WithParamInterface<Protocol> {
  protected:
    static void storeOnAThread(TrackedFile &file) {
        std::thread([&] {
            for (size_t page = 0; page < Pages; page++)
                trackedStore(file.working() + page * Page, page + 1);
        }).join();
        EXPECT_EQ(file.commit(), 0);
    }
    void openAndClose() const {
        TrackedFile file(path, Pages * Page, GetParam().flag);
        ASSERT_EQ(file.error(), 0);
        storeOnAThread(file);
        trackedStore(file.working() + 8, 1);
        EXPECT_EQ(file.commit(), 0);
    }
};

TEST_P(Memory, OfAClosedFileIsUnmapped) {
    for (int times = 0; times < 2; times++)
        openAndClose(); // the memory that stays for the next file is there from now on
    long before = library_pages;
    openAndClose();
    EXPECT_EQ(library_pages, before);
}

TEST_P(Memory, OfAThreadThatEndedIsUsedByTheNext) {
    TrackedFile file(path, Pages * Page, GetParam().flag);
    ASSERT_EQ(file.error(), 0);
    for (int commits = 0; commits < 4; commits++)
        storeOnAThread(file); // redo keeps the lists of three commits
    long before = library_pages;
    for (int commits = 0; commits < 4; commits++)
        storeOnAThread(file);
    EXPECT_EQ(library_pages, before);
}

INSTANTIATE_TEST_SUITE_P(Protocols, Memory, testing::ValuesIn(Protocols), [](const auto &of) {
    std::string name = of.param.name;
    std::erase(name, '-');
    return name;
});

} // namespace
