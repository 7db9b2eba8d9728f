// SPDX-License-Identifier: BSD-3-Clause
//
// A file with epochs that is not mapped moves to another place while its log has epochs that the file lacks.
#include <fcntl.h>
#include <sys/mman.h>

#include "file_test.hpp"
#include "posix_calls.hpp"

namespace {

constexpr size_t Page = 4096, Pages = 64;
constexpr off_t Large = off_t{1} << 31; // over the room that a small file gets

class EpochMoves : public FileTest {
  protected:
    void SetUp() override {
        FileTest::SetUp();
        setenv("SNAPSHOT_PROTOCOL", "epoch", 1);
        create();
    }
    void TearDown() override {
        close();
        FileTest::TearDown();
    }
    void create() {
        fd = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        ASSERT_EQ(ftruncate(fd, Pages * Page), 0);
        map(Pages * Page);
    }
    void close() const {
        p_munmap(memory, bytes);
        p_close(fd);
    }
    void map(size_t length) {
        bytes = length;
        void *mapped = p_mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
        ASSERT_NE(mapped, MAP_FAILED);
        memory = static_cast<uint8_t *>(mapped);
    }
    void commit(uint64_t value) {
        for (size_t page = 0; page < Pages; page++)
            trackedStore(memory + page * Page + 8 * value, value);
        ASSERT_EQ(p_msync(memory, bytes, MS_SYNC), 0);
    }
    // Something is not committed, so that the file stays as it is while nobody maps it.
    void move() {
        trackedStore(memory + 2048, 77);
        ASSERT_EQ(p_munmap(memory, bytes), 0);
        ASSERT_EQ(p_ftruncate(fd, Large), 0);
        map(Large);
    }
    void expectInFile(uint64_t values) const {
        for (uint64_t value = 1; value <= values; value++)
            for (size_t page = 0; page < Pages; page++) {
                uint64_t found = 0;
                ASSERT_EQ(pread(fd, &found, 8, static_cast<off_t>(page * Page + 8 * value)), 8);
                EXPECT_EQ(found, value);
            }
    }
    struct snapshot_epochs_stats counted() const {
        struct snapshot_epochs_stats stats{};
        EXPECT_EQ(snapshot_epochs_get_stats(memory, &stats), 0);
        return stats;
    }

    int fd = -1;
    uint8_t *memory = nullptr;
    size_t bytes = 0;
};

TEST_F(EpochMoves, KeepWhatTheLogAloneHas) {
    commit(1);
    commit(2);
    ASSERT_LT(counted().replayed_epochs, 2u);
    move();
    EXPECT_EQ(snapshot_epochs_replay(memory), 0);
    for (uint64_t value = 3; value <= 8; value++)
        commit(value);
    EXPECT_EQ(snapshot_epochs_replay(memory), 0);
    EXPECT_EQ(counted().replayed_epochs, 8u);
    expectInFile(8);
    EXPECT_EQ(word(memory + 2048), 77u);
}

// Under ThreadSanitizer, too: a thread that replays finds log and file where they were, or where they are then.
TEST_F(EpochMoves, BesideTheThreadThatReplays) {
    struct snapshot_epochs options{};
    options.period_ns = SNAPSHOT_EPOCHS_BY_CALL;
    options.timeout_ns = 10000000000;
    options.flags = SNAPSHOT_REPLAY_BACKGROUND;
    for (unsigned round = 0; round < 8; round++) {
        ASSERT_EQ(snapshot_epochs_start(memory, &options), 0);
        for (uint64_t value = 1; value <= 3; value++)
            commit(value);
        move();
        EXPECT_EQ(snapshot_epochs_replay(memory), 0);
        EXPECT_EQ(counted().replayed_epochs, 3u);
        expectInFile(3);
        close();
        create();
    }
}

} // namespace
