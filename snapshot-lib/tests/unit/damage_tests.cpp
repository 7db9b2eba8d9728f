// SPDX-License-Identifier: BSD-3-Clause
//
// A log that is damaged while the file is open: a call that needs it fails, and the working copy is not lost.
#include <algorithm>
#include <csignal>
#include <functional>
#include <semaphore>
#include <sys/mman.h>
#include <thread>

#include "file_test.hpp"

namespace {

constexpr size_t Bytes = 8192;

class OpenDamage : public FileTest {
  protected:
    // One bit of the first word in the log that has the value: of the newest block, as earlier ones have other values.
    static void damage(const TrackedFile &file, uint64_t value) {
        Mapping mapping = file.mapping();
        for (size_t at = LOG_CHUNKS_OFFSET; at < mapping.log_bytes; at += 8)
            if (word(mapping.log + at) == value) {
                const_cast<uint8_t *>(mapping.log)[at] ^= 1;
                return;
            }
        FAIL() << "the log does not have " << value;
    }

    static void commit(TrackedFile &file, size_t offset, uint64_t value) {
        trackedStore(file.working() + offset, value);
        ASSERT_EQ(file.commit(), 0);
    }
};

TEST_F(OpenDamage, IsNoLossAtTheEndIfTheWorkingCopyHasTheLines) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_REDO);
    commit(file, 0, 0x1111);
    commit(file, 4096, 0x2222);
    damage(file, 0x1111);
    damage(file, 0x2222);
    EXPECT_EQ(snapshot_unmap(file.release()), 0);
    TrackedFile again(path, 0);
    EXPECT_EQ(word(again, 0), 0x1111u);
    EXPECT_EQ(word(again, 4096), 0x2222u);
}

// The content from the working copy is durable in the file before the log says that the file has it.
TEST_F(OpenDamage, IsMendedInTheFileBeforeTheLogEnds) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_REDO);
    commit(file, 0, 0x1111);
    damage(file, 0x1111);
    const Mapping mapping = file.mapping();
    Recorder trace;
    recorder = &trace;
    EXPECT_EQ(snapshot_unmap(file.release()), 0);
    recorder = nullptr;
    auto is_data = [&](const PersistEvent &event) {
        return event.target >= mapping.data && event.target < mapping.data + Bytes;
    };
    auto behind = std::find_if(trace.events.rbegin(), trace.events.rend(), is_data).base();
    ASSERT_NE(behind, trace.events.begin()) << "nothing is written to the file";
    ASSERT_NE(behind, trace.events.end());
    EXPECT_EQ(behind->target, nullptr) << "no fence follows";
}

TEST_F(OpenDamage, IsReportedByRollbackWhichChangesNothing) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_REDO);
    commit(file, 64, 0x1111);
    damage(file, 0x1111);
    trackedStore(file.working() + 64, 5);
    EXPECT_EQ(snapshot_rollback(file.working()), -EUCLEAN);
    EXPECT_EQ(word(file, 64), 5u);
    EXPECT_EQ(file.commit(), 0); // of the program's present content: it does not need the old log any more
    EXPECT_EQ(snapshot_rollback(file.working()), 0);
    EXPECT_EQ(word(file, 64), 5u);
}

TEST_F(OpenDamage, IsReportedAtTheEndIfNothingElseHasTheLines) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_REDO);
    commit(file, 64, 0x1111);
    commit(file, 64, 0x2222);
    damage(file, 0x2222);
    trackedStore(file.working() + 64, 5);
    EXPECT_EQ(snapshot_unmap(file.release()), -EUCLEAN);
    TrackedFile again(path, 0); // as after a crash: the last commit looks unfinished
    EXPECT_EQ(word(again, 64), 0x1111u);
}

TEST_F(OpenDamage, IsReportedByAPublication) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_REDO);
    commit(file, 64, 0x1111);
    trackedStore(file.working() + 64, 5);
    damage(file, 0x1111);
    EXPECT_EQ(snapshot_test_publish(file.working()), -EUCLEAN);
    EXPECT_EQ(word(file, 64), 5u);
}

TEST_F(OpenDamage, OfWhatTheCommitOfUndoNvWalksIsReportedBeforeAnythingChanges) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_UNDO_NV);
    for (size_t line = 0; line < 100; line++)
        trackedStore(file.working() + 64 * line, 0x1000 + line);
    ASSERT_EQ(file.commit(), 0);
    for (size_t line = 0; line < 100; line++)
        trackedStore(file.working() + 64 * line, 0x2000 + line);
    damage(file, 0x1003); // the old content, in a block that is in the log already
    Image before = file.image();
    EXPECT_EQ(file.commit(), -EUCLEAN);
    EXPECT_EQ(snapshot_rollback(file.working()), -EUCLEAN);
    EXPECT_EQ(word(file, 64), 0x2001u);
    Image after = file.image();
    EXPECT_EQ(memcmp(before.dataBytes(), after.dataBytes(), Bytes), 0);
    EXPECT_EQ(snapshot_unmap(file.release()), -EUCLEAN);
    TrackedFile again(path, 0);
    EXPECT_EQ(word(again, 64 * 99), 0x1000u + 99);
}

// The log is damaged between its check and its use: by a handler, when the commit copies the first line that it holds.
Mapping damaged;
uint8_t *protected_page, *damaged_byte;

void damageAtFault(int) {
    const uint64_t value = 0x1111;
    mprotect(protected_page, 4096, PROT_READ | PROT_WRITE);
    for (size_t at = LOG_CHUNKS_OFFSET; at < damaged.log_bytes && !damaged_byte; at += 8)
        if (memcmp(damaged.log + at, &value, sizeof(value)) == 0)
            damaged_byte = const_cast<uint8_t *>(damaged.log) + at;
    *damaged_byte ^= 1;
}

TEST_F(OpenDamage, OfWhatTheCommitOfUndoNvHasCheckedLeavesNothingToCarry) {
    TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_UNDO_NV);
    commit(file, 0, 0x1111);
    std::binary_semaphore next{0}, done{0};
    std::thread other([&] {
        trackedStore(file.working(), 0x2222);
        done.release();
        next.acquire();
        EXPECT_EQ(file.commit(), 0);
        trackedStore(file.working() + 4096, 0x3333);
        done.release();
        next.acquire();
    });
    done.acquire();
    struct sigaction action = {}, before;
    action.sa_handler = damageAtFault;
    sigaction(SIGSEGV, &action, &before);
    damaged = file.mapping();
    protected_page = file.working();
    mprotect(protected_page, 4096, PROT_NONE);
    EXPECT_EQ(file.commit(), -EUCLEAN);
    sigaction(SIGSEGV, &before, nullptr);
    *damaged_byte ^= 1;
    next.release();
    done.acquire();
    EXPECT_EQ(file.commit(), 0);
    next.release();
    other.join();
    EXPECT_EQ(word(file, 0), 0x2222u);
    EXPECT_EQ(word(file, 4096), 0x3333u);
}

TEST_F(OpenDamage, OfTheFileRecordsIsReportedByAResize) {
    for (size_t size : {2 * Bytes, Bytes / 2}) {
        TrackedFile file(path, Bytes, SNAPSHOT_PROTOCOL_REDO);
        ASSERT_EQ(file.error(), 0);
        auto *log = const_cast<uint8_t *>(file.mapping().log);
        std::array<uint8_t, 512> kept;
        memcpy(kept.data(), log + LOG_FILE_RECORD_OFFSET, kept.size());
        for (uint64_t sequence : {0, 1})
            log[log_file_record_offset(sequence) + 8] ^= 1;
        EXPECT_EQ(snapshot_resize(file.working(), size), -EUCLEAN);
        memcpy(log + LOG_FILE_RECORD_OFFSET, kept.data(), kept.size());
    }
}

} // namespace
