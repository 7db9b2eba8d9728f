// SPDX-License-Identifier: BSD-3-Clause
//
// Threads beside a commit: which store waits for it, and in which log it is. A test can prolong a commit that lets its
// log grow.
#include <poll.h>
#include <sys/syscall.h>

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "file_test.hpp"
#include "thread_sleep.hpp"

extern thread_local std::atomic<bool> *growth_waits_for;
extern std::atomic<bool> log_grows;
extern "C" __attribute__((preserve_most)) void __snapshot_log(const void *address, size_t bytes);
extern "C" __typeof__(qsort) __snapshot_libc_qsort;
extern "C" __typeof__(poll) __snapshot_libc_poll;

namespace {

constexpr size_t Lines = 4096; // more than the log has room for at first

void storeLines(const TrackedFile &file, size_t first, size_t end) {
    for (size_t line = first; line < end; line++)
        trackedStore(file.working() + 64 * line, line + 1);
}

// A thread that changes most lines and then commits them until it is told to go on.
class LongCommit {
  public:
    explicit LongCommit(TrackedFile &file) {
        log_grows = false;
        thread = std::thread([&] {
            storeLines(file, 1, Lines);
            growth_waits_for = &goes_on;
            EXPECT_EQ(file.commit(), 0);
            growth_waits_for = nullptr;
        });
        while (!log_grows)
            std::this_thread::yield();
    }
    ~LongCommit() {
        goes_on = true;
        thread.join();
    }

  private:
    std::atomic<bool> goes_on = false;
    std::thread thread;
};

// A thread that does one thing after another, when it is told to.
class Worker {
  public:
    Worker() {
        thread = std::thread([this] {
            tid = static_cast<pid_t>(syscall(SYS_gettid));
            while (!ends)
                if (is_busy) {
                    work();
                    is_done = true;
                    is_busy = false;
                } else
                    std::this_thread::yield();
        });
    }
    ~Worker() {
        ends = true;
        thread.join();
    }
    void begin(std::function<void()> what) {
        is_done = false;
        work = std::move(what);
        is_busy = true;
    }
    void run(std::function<void()> what) {
        begin(std::move(what));
        while (is_busy)
            std::this_thread::yield();
    }
    bool waits() { return awaitSleep(tid, &is_done); } // false: it has done it

  private:
    std::function<void()> work;
    std::atomic<bool> is_busy = false, is_done = false, ends = false;
    std::atomic<pid_t> tid = 0;
    std::thread thread;
};

class Beside : public FileTest {};

// Without using the CPU until the commit has ended.
TEST_F(Beside, ACommitAFirstStoreWaitsAsleep) {
    TrackedFile file(path, 64 * Lines, SNAPSHOT_PROTOCOL_REDO);
    ASSERT_EQ(file.error(), 0);
    Worker worker;
    LongCommit commit(file);
    worker.begin([&] { trackedStore(file.working(), 1); });
    EXPECT_TRUE(worker.waits());
}

// The line is in the lists of two threads. The last of them to come to it goes on storing as if it were its own.
TEST_F(Beside, ACommitAFurtherStoreToALineOfTwoThreadsDoesNotWait) {
    TrackedFile file(path, 64 * Lines, SNAPSHOT_PROTOCOL_REDO);
    ASSERT_EQ(file.error(), 0);
    Worker one, other;
    auto store = [&] {
        __snapshot_log(file.working(), 8);
        memset(file.working(), 1, 8);
    };
    one.run(store);
    other.run(store);
    LongCommit commit(file);
    other.begin(store);
    EXPECT_FALSE(other.waits());
}

std::function<void()> in_first_comparison;

int compareWords(const void *a, const void *b) {
    if (std::function<void()> action = std::exchange(in_first_comparison, nullptr))
        action();
    return memcmp(a, b, 8);
}

// qsort() stores after the callback. The commit has emptied the thread's log of the file, so it must be filled again.
TEST_F(Beside, ACommitAFurtherStoreOfACallWaitsThoughItsCallbackIsInsideAnotherFile) {
    TrackedFile file(path, 64 * Lines, SNAPSHOT_PROTOCOL_REDO), another(path + "2", 4096, SNAPSHOT_PROTOCOL_REDO);
    std::atomic<bool> is_outside = false, is_committing = false;
    in_first_comparison = [&] {
        __snapshot_libc_poll(nullptr, 0, 0);
        is_outside = true;
        while (!is_committing)
            std::this_thread::yield();
        trackedStore(another.working(), 1);
    };
    Worker worker;
    worker.begin([&] { __snapshot_libc_qsort(file.working(), 8, 8, compareWords); });
    while (!is_outside)
        std::this_thread::yield();
    LongCommit commit(file);
    is_committing = true;
    EXPECT_TRUE(worker.waits());
}

class BesideOf : public FileTest, public testing::WithParamInterface<Protocol> {};

// Threads that follow one another have the same record of whether they are inside.
TEST_P(BesideOf, AStoreToAnotherFileTheLogOfAThreadThatEndedIsEmptied) {
    TrackedFile file(path, 4096, GetParam().flag), another(path + "2", 4096, GetParam().flag);
    std::thread([&] { trackedStore(file.working(), 1); }).join();
    Worker worker;
    worker.run([&] { trackedStore(another.working(), 1); });
    EXPECT_EQ(file.commit(), 0);
    uint64_t lines = file.stats().lines_logged;
    EXPECT_EQ(lines, 1u);
    EXPECT_EQ(file.commit(), 0);
    EXPECT_EQ(file.stats().lines_logged, lines) << "committed once more";
}

INSTANTIATE_TEST_SUITE_P(Protocols, BesideOf, testing::ValuesIn(Protocols), [](const auto &of) {
    std::string name = of.param.name;
    std::erase(name, '-');
    return name;
});

} // namespace
