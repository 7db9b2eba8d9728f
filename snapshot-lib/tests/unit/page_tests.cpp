// SPDX-License-Identifier: BSD-3-Clause
//
// The trackers of pages: their findings, their cost, and the message if they are not available.
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <functional>
#include <thread>
#include <vector>

#include "costs_test.hpp"
#include "page_faults.hpp"
#include "posix_calls.hpp"
#include "thread_sleep.hpp"

// A kernel that lacks something: the return value of such a call, or 0 for its real result.
static std::function<int(long number, long second)> missing;
extern "C" long __real_syscall(long number, ...);
extern "C" long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    int error = missing ? missing(number, b) : 0;
    if (error == 0)
        return __real_syscall(number, a, b, c, d, e, f);
    errno = error;
    return -1;
}

extern "C" int region_recover(int fd, const char *path);

namespace {

constexpr size_t Page = 4096, PageLines = 64;

class Pages : public Costs, public testing::WithParamInterface<const char *> {
  protected:
    void SetUp() override {
        FileTest::SetUp();
        setenv("SNAPSHOT_TRACK", GetParam(), 1);
        stores_are_announced = false;
    }
    void TearDown() override {
        missing = nullptr;
        unsetenv("SNAPSHOT_TRACK");
        unsetenv("SNAPSHOT_PROTOCOL");
        FileTest::TearDown();
    }

    bool isUffd() const { return std::string(GetParam()) == "uffd"; }

    static void storeToPages(TrackedFile &file, size_t first, size_t count) {
        for (size_t page = first; page < first + count; page++)
            trackedStore(file.working() + page * Page + 8 * page, page + 1);
    }

    static Cost commitPages(TrackedFile &file, size_t first, size_t count) {
        return measure(file, [&] {
            storeToPages(file, first, count);
            EXPECT_EQ(file.commit(), 0);
        });
    }

    // Opening is refused with this error and a sentence that has the words; nothing is left behind.
    void expectRefusal(int error, const std::string &words, unsigned flags = 0) {
        testing::internal::CaptureStderr();
        EXPECT_EQ(TrackedFile(path, Page, flags).error(), -error) << words;
        std::string said = testing::internal::GetCapturedStderr();
        EXPECT_NE(said.find(words), std::string::npos) << said;
        EXPECT_FALSE(std::filesystem::exists(path + ".snapshot-log"));
    }

    using FileTest::path;
};

INSTANTIATE_TEST_SUITE_P(Trackers, Pages, testing::Values("uffd", "mprotect"),
                         [](auto &info) { return std::string(info.param); });

// One fence, as under the pass, but 64 lines for one that was stored to.
TEST_P(Pages, CommitTakesOneFenceAndAllLinesOfEachPage) {
    TrackedFile file(path, 64 * Page);
    EXPECT_EQ(commitPages(file, 0, 1), (Cost{1, lineBlocks(PageLines), 0}));
    EXPECT_EQ(commitPages(file, 3, 10), (Cost{1, lineBlocks(10 * PageLines), PageLines}));
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{0, 0, 0})) << "what was found is not found again";
    EXPECT_EQ(commitPages(file, 3, 10), (Cost{1, lineBlocks(10 * PageLines), 0})) << "hot pages";
    Cost apart = measure(file, [&] {
        for (size_t page = 20; page < 40; page += 2)
            storeToPages(file, page, 1);
        EXPECT_EQ(file.commit(), 0);
    });
    EXPECT_EQ(apart, (Cost{1, lineBlocks(10 * PageLines), 10 * PageLines}));
}

TEST_P(Pages, OfAFileThatEndsWithinOneAreCommittedToItsEnd) {
    TrackedFile file(path, Page + 100);
    EXPECT_EQ(commitPages(file, 1, 1), (Cost{1, lineBlocks(2), 0}));
    for (int times = 0; times < 2; times++)
        EXPECT_EQ(commitPages(file, 0, 0), (Cost{0, 0, 0})) << "the end is cleared, which is no store of the program";
    file.working()[Page + 101] = 1;
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{1, lineBlocks(2), 0})) << "a store behind the end is to the page";
    EXPECT_EQ(file.working()[Page + 101], 0);
}

class Uffd : public Pages {};
INSTANTIATE_TEST_SUITE_P(Trackers, Uffd, testing::Values("uffd"));

// The first store to a page since it was committed takes one, the next none. Of a page that was never touched it takes
// two: one for memory, one for the note.
TEST_P(Uffd, TakesOneFaultForEachPageAndCommit) {
    constexpr size_t count = 32;
    constexpr size_t spare = 2 + count / 8; // the kernel may take its own, and the sanitizer one for its note of eight
    TrackedFile file(path, 64 * Page);
    auto expectFaults = [&](uint64_t wanted, const char *what) {
        uint64_t taken = faults([&] { storeToPages(file, 0, count); });
        EXPECT_GE(taken, wanted) << what;
        EXPECT_LE(taken, wanted + spare) << what;
    };
    expectFaults(2 * count, "pages that were never touched");
    expectFaults(0, "pages that were stored to");
    EXPECT_EQ(file.commit(), 0);
    expectFaults(count, "pages that were committed");
}

// The log has four sets of chunks, and the lists of lines grow: the first commits touch new pages for the first time.
TEST_P(Pages, ThatAreHotTakeNoFaultInACommit) {
    TrackedFile file(path, 64 * Page);
    auto commitFaults = [&] {
        storeToPages(file, 0, 32);
        return faults([&] { EXPECT_EQ(file.commit(), 0); });
    };
    uint64_t first = commitFaults(), least = first; // the kernel may take some of its own
    for (int times = 1; times < 12; times++)
        least = std::min(least, commitFaults());
    EXPECT_GT(first, 32u) << "the log's pages are counted";
    EXPECT_EQ(least, 0u);
}

TEST_P(Pages, HoldWhatWasCommittedAndNothingElseAfterReopening) {
    {
        TrackedFile file(path, 8 * Page);
        storeToPages(file, 2, 3);
        EXPECT_EQ(file.commit(), 0);
        trackedStore(file.working() + 2 * Page, 99);
    }
    TrackedFile file(path, 0);
    EXPECT_EQ(word(file, 2 * Page), 0u);
    EXPECT_EQ(word(file, 2 * Page + 16), 3u);
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{0, 0, 0})) << "filling the working copy is no store";
}

TEST_P(Pages, AreTakenBackByARollbackThatLeavesThemWatched) {
    TrackedFile file(path, 8 * Page);
    storeToPages(file, 0, 4);
    EXPECT_EQ(file.commit(), 0);
    trackedStore(file.working(), 77);
    EXPECT_EQ(snapshot_rollback(file.working()), 0);
    EXPECT_EQ(word(file, 0), 1u);
    EXPECT_EQ(commitPages(file, 0, 0).log_lines, lineBlocks(PageLines)) << "committed again, unchanged";
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{0, 0, 0})) << "the rollback's own stores are none of the program's";
}

// Growth clears the bytes behind the end, which is no store of the program; earlier stores there are kept.
TEST_P(Pages, WithTheEndOfAFileThatGrowsChangeOnlyByStores) {
    TrackedFile file(path, Page + 100);
    ASSERT_EQ(snapshot_resize(file.working(), Page + 200), 0);
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{0, 0, 0}));
    trackedStore(file.working() + Page, 7);
    ASSERT_EQ(snapshot_resize(file.working(), 3 * Page), 0);
    EXPECT_EQ(commitPages(file, 0, 0).log_lines, lineBlocks(4)) << "the lines that the page had then";
    trackedStore(file.working() + Page + 300, 8);
    EXPECT_EQ(commitPages(file, 0, 0).log_lines, lineBlocks(PageLines));
}

TEST_P(Pages, OfAFileThatHasGrownAndWasCutAreFound) {
    TrackedFile file(path, 2 * Page);
    ASSERT_EQ(snapshot_resize(file.working(), 6 * Page), 0);
    EXPECT_EQ(commitPages(file, 4, 2), (Cost{1, lineBlocks(2 * PageLines), 0}));
    ASSERT_EQ(snapshot_resize(file.working(), 3 * Page), 0);
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{0, 0, 0}));
    EXPECT_EQ(commitPages(file, 1, 2).log_lines, lineBlocks(2 * PageLines));
    EXPECT_DEATH(file.working()[3 * Page] = 1, "");
    file.close();
    TrackedFile again(path, 0);
    EXPECT_EQ(word(again, 2 * Page + 16), 3u);
}

// The kernel stores for a system call as the program does, but no signal opens a page for it.
TEST_P(Pages, WrittenBySystemCalls) {
    TrackedFile file(path, 4 * Page);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(write(ends[1], "abcdefgh", 8), 8);
    uint8_t *to = file.working() + Page;
    if (!isUffd()) {
        EXPECT_EQ(read(ends[0], to, 8), -1);
        EXPECT_EQ(errno, EFAULT);
        snapshot_log_range(to, 8);
    }
    EXPECT_EQ(read(ends[0], to, 8), 8);
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{1, lineBlocks(PageLines), 0}));
    for (int end : ends)
        close(end);
}

// Stores of a child are its own, and its end takes nothing from the parent.
TEST_P(Pages, OfAParentAreWatchedAsBeforeAfterAFork) {
    TrackedFile file(path, 8 * Page);
    storeToPages(file, 0, 2);
    pid_t child = fork();
    if (child == 0) {
        storeToPages(file, 0, 8);
        _exit(word(file, 7 * Page + 56) == 8 && file.commit() == -EPERM ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(commitPages(file, 2, 1), (Cost{1, lineBlocks(3 * PageLines), 0}));
    EXPECT_EQ(commitPages(file, 5, 1).log_lines, lineBlocks(PageLines));
}

TEST_P(Pages, ExplainEveryByteThatChanged) {
    setenv("SNAPSHOT_CHECK", "abort", 1);
    TrackedFile file(path, 4 * Page + 10);
    unsetenv("SNAPSHOT_CHECK");
    memset(file.working(), 1, 4 * Page + 10);
    EXPECT_EQ(file.commit(), 0);
    file.working()[3 * Page - 1] = 2;
    EXPECT_EQ(file.commit(), 0);
    EXPECT_EQ(file.stats().lines_untracked, 0u);
}

TEST_P(Pages, AreFoundUnderTheTrackerThatTheFlagsName) {
    const unsigned other = isUffd() ? SNAPSHOT_TRACK_MPROTECT : SNAPSHOT_TRACK_UFFD;
    TrackedFile file(path, 4 * Page, other);
    EXPECT_EQ(commitPages(file, 0, 1), (Cost{1, lineBlocks(PageLines), 0}));
    file.close();
    TrackedFile announced(path, 0, SNAPSHOT_TRACK_PASS | SNAPSHOT_PROTOCOL_LINE);
    EXPECT_EQ(commitPages(announced, 0, 1), (Cost{0, 0, 0})) << "nobody announced it";
    snapshot_log_range(announced.working(), 8);
    EXPECT_EQ(commitPages(announced, 0, 1), (Cost{2, lineBlocks(1) + 1, 1}));
}

TEST_P(Pages, OfTwoFilesAreFoundApart) {
    TrackedFile one(path, 4 * Page), other(path + "-other", 4 * Page);
    storeToPages(one, 0, 1);
    storeToPages(other, 1, 2);
    EXPECT_EQ(commitPages(one, 0, 0), (Cost{1, lineBlocks(PageLines), 0}));
    one.close();
    EXPECT_EQ(commitPages(other, 0, 0), (Cost{1, lineBlocks(2 * PageLines), 0}));
}

TEST_P(Pages, AreRefusedToProtocolsThatNeedWhatAStoreOverwrites) {
    for (const char *protocol : {"line", "undo", "undo-nv"}) {
        setenv("SNAPSHOT_PROTOCOL", protocol, 1);
        expectRefusal(EINVAL, std::string("the protocol ") + protocol + " needs what a store overwrites");
    }
    setenv("SNAPSHOT_PROTOCOL", "redo", 1);
    expectRefusal(EINVAL, "the protocol undo needs", SNAPSHOT_PROTOCOL_UNDO);
    EXPECT_EQ(TrackedFile(path, Page).error(), 0);
}

TEST_P(Pages, AreTrackedByNothingThatThereIsNot) {
    expectRefusal(EINVAL, "two trackers", SNAPSHOT_TRACK_UFFD | SNAPSHOT_TRACK_PASS);
    expectRefusal(EINVAL, "no commit protocol", SNAPSHOT_TRACK_UFFD | 7u << 8);
    setenv("SNAPSHOT_TRACK", "soft-dirty", 1);
    expectRefusal(EINVAL, "SNAPSHOT_TRACK=soft-dirty is no tracker; there are uffd mprotect pass");
    setenv("SNAPSHOT_TRACK", "", 1);
    TrackedFile file(path, Page);
    EXPECT_EQ(commitPages(file, 0, 1), (Cost{1, lineBlocks(PageLines), 0})) << "uffd is the default";
}

// The state after a crash is recovered for open(), whatever may be wrong with the tracker.
TEST_P(Pages, AreNotNeededToRecover) {
    TrackedFile(path, Page).close();
    setenv("SNAPSHOT_TRACK", "soft-dirty", 1);
    int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(region_recover(fd, path.c_str()), 0);
    close(fd);
}

// Pages that are listed and not protected again are listed by every scan after that: no loss, but the counts show it.
TEST_P(Uffd, ThatForgotToProtectPagesAgainWouldBeNoticed) {
    TrackedFile file(path, 4 * Page);
    seeded_bug = "PAGES_NOT_PROTECTED_AGAIN";
    EXPECT_EQ(commitPages(file, 0, 2), (Cost{1, lineBlocks(2 * PageLines), 0}));
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{1, lineBlocks(2 * PageLines), 0}));
    seeded_bug = "";
}

constexpr int ScanCall = static_cast<int>(_IOC(_IOC_READ | _IOC_WRITE, 'f', 16, 96));

TEST_P(Uffd, IsRefusedByAKernelThatHasNotWhatItNeeds) {
    const struct {
        long number, second;
        int error, refused;
        const char *words;
    } cases[] = {
        {SYS_userfaultfd, -1, ENOSYS, EOPNOTSUPP, "(Linux 6.7): set SNAPSHOT_TRACK=mprotect"},
        {SYS_userfaultfd, -1, EINVAL, EOPNOTSUPP, "(Linux 6.7)"},
        {SYS_userfaultfd, -1, EPERM, EPERM, "may not use userfaultfd"},
        {SYS_userfaultfd, -1, ENFILE, ENFILE, ""},
        {SYS_ioctl, static_cast<int>(UFFDIO_API), EINVAL, EOPNOTSUPP, "asynchronous write protection (Linux 6.7)"},
        {SYS_ioctl, ScanCall, ENOTTY, EOPNOTSUPP, "PAGEMAP_SCAN (Linux 6.7)"},
    };
    for (const auto &one : cases) {
        missing = [&](long number, long second) {
            bool is_it = number == one.number && (one.second == -1 || static_cast<int>(second) == one.second);
            return is_it ? one.error : 0;
        };
        expectRefusal(one.refused, one.words);
    }
    missing = [](long number, long second) {
        bool is_it = number == SYS_openat && strcmp(reinterpret_cast<char *>(second), "/proc/self/pagemap") == 0;
        return is_it ? ENOENT : 0;
    };
    expectRefusal(EOPNOTSUPP, "/proc/self/pagemap, which is not there");
    missing = nullptr;
    EXPECT_EQ(TrackedFile(path, Page).error(), 0);
}

// A commit that cannot determine the changes says so, and none of them is lost.
TEST_P(Uffd, CommitsNothingIfTheKernelDoesNotSayWhatHasChanged) {
    TrackedFile file(path, 4 * Page);
    storeToPages(file, 0, 2);
    missing = [](long number, long second) {
        return number == SYS_ioctl && static_cast<int>(second) == ScanCall ? EPERM : 0;
    };
    EXPECT_EQ(file.commit(), -EPERM);
    EXPECT_EQ(snapshot_rollback(file.working()), -EPERM);
    EXPECT_EQ(word(file, 0), 1u);
    missing = nullptr;
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{1, lineBlocks(2 * PageLines), 0}));
}

class Mprotect : public Pages {};
INSTANTIATE_TEST_SUITE_P(Trackers, Mprotect, testing::Values("mprotect"));

// A system call for each page that is opened, and one for each run that is closed. (The kernel counts no page fault for
// a signal.)
TEST_P(Mprotect, TakesACallForEachPageAndForEachRun) {
    unsigned calls = 0; // until the file is closed
    TrackedFile file(path, 64 * Page);
    missing = [&](long number, long) { return calls += number == SYS_mprotect, 0; };
    auto callsOf = [&](const std::function<void()> &work) { return calls = 0, work(), calls; };
    EXPECT_EQ(callsOf([&] { storeToPages(file, 10, 8); }), 8u);
    EXPECT_EQ(callsOf([&] { storeToPages(file, 10, 8); }), 0u);
    EXPECT_EQ(callsOf([&] { EXPECT_EQ(file.commit(), 0); }), 1u);
    EXPECT_EQ(callsOf([&] { storeToPages(file, 10, 1), storeToPages(file, 12, 2); }), 3u);
    EXPECT_EQ(callsOf([&] { EXPECT_EQ(file.commit(), 0); }), 2u);
    EXPECT_EQ(callsOf([&] { EXPECT_EQ(file.commit(), 0); }), 0u);
}

// A kernel has so many mappings for a process, and each page of another protection than its neighbours takes one.
TEST_P(Mprotect, OpensTheWholeFileWhereMappingsRunOut) {
    TrackedFile file(path, 8 * Page);
    int calls = 0;
    missing = [&](long number, long) { return number == SYS_mprotect && ++calls == 1 ? ENOMEM : 0; };
    trackedStore(file.working() + 2 * Page, 5);
    EXPECT_EQ(calls, 2);
    missing = [&](long number, long) { return number == SYS_mprotect ? ENOMEM : 0; };
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{1, lineBlocks(8 * PageLines), 0})) << "none can be closed";
    trackedStore(file.working() + 3 * Page, 6);
    missing = nullptr;
    EXPECT_EQ(commitPages(file, 0, 0), (Cost{1, lineBlocks(8 * PageLines), 0}));
    EXPECT_EQ(commitPages(file, 3, 1).log_lines, lineBlocks(PageLines));
    EXPECT_EQ(word(file, 3 * Page), 6u);
}

sigjmp_buf elsewhere;

// A fault that is no store to a tracked file goes to the handler that was there before, or ends the process.
TEST_P(Mprotect, LeavesOtherFaultsToOthers) {
    struct sigaction own{}, before{};
    own.sa_handler = [](int) { siglongjmp(elsewhere, 1); };
    auto body = [&] {
        sigaction(SIGSEGV, &own, &before);
        TrackedFile file(path, 2 * Page);
        trackedStore(file.working(), 1);
        void *other = mmap(nullptr, Page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (sigsetjmp(elsewhere, 1) == 0) {
            *static_cast<volatile char *>(other) = 1;
            _exit(1);
        }
        trackedStore(file.working() + Page, 2);
        _exit(word(file, 0) == 1 && word(file, Page) == 2 && file.commit() == 0 ? 0 : 2);
    };
    EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

// A thread that waits in the first system call that changes the protection of a page.
class SlowCall {
  public:
    explicit SlowCall(std::function<void()> call) : call(std::move(call)) {
        missing = [this](long number, long) {
            if (number == SYS_mprotect && !is_opening.exchange(true))
                while (!goes_on)
                    std::this_thread::yield();
            return 0;
        };
    }
    ~SlowCall() { missing = nullptr; }
    void begin() {
        thread = std::thread(call);
        while (!is_opening)
            std::this_thread::yield();
    }
    void end() {
        goes_on = true;
        thread.join();
    }

  private:
    std::function<void()> call;
    std::atomic<bool> is_opening = false, goes_on = false;
    std::thread thread;
};

// The next commit has the content of the working copy, from any store at any time.
TEST_P(Mprotect, OpensNoPageThatACommitHasClosedMeanwhile) {
    for (auto *call : {snapshot_sync, snapshot_rollback}) {
        TrackedFile file(path, 4 * Page);
        SlowCall store([&] { trackedStore(file.working() + 2 * Page, 7); });
        store.begin();
        std::thread caller([&] { EXPECT_EQ(call(file.working()), 0); });
        usleep(50000);
        store.end();
        caller.join();
        uint64_t stored = word(file, 2 * Page);
        EXPECT_EQ(file.commit(), 0);
        file.close();
        EXPECT_EQ(word(TrackedFile(path, 0), 2 * Page), stored);
    }
}

// A call that changes the file, and a system call of it that follows the look for changed pages. Another thread then
// stores to a word that the call leaves as it is.
struct Change {
    const char *name;
    long step, step_argument; // -1: any
    size_t stored_to;
    int (*make)(TrackedFile &file);
};

constexpr Change Cut = {"cut", SYS_ftruncate, -1, 8,
                        [](TrackedFile &file) { return snapshot_resize(file.working(), 2 * Page); }};
constexpr Change Growth = {"growth", SYS_mmap, -1, 3 * Page + 8,
                           [](TrackedFile &file) { return snapshot_resize(file.working(), 5 * Page); }};
constexpr Change Rollback = {"rollback", SYS_ioctl, static_cast<long>(UFFDIO_WRITEPROTECT), 8,
                             [](TrackedFile &file) { return snapshot_rollback(file.working()); }};

uint64_t wordOf(const TrackedFile &file, size_t offset) {
    uint64_t value;
    memcpy(&value, file.working() + offset, sizeof(value));
    return value;
}

void storeBeside(const std::string &path, const Change &change) {
    TrackedFile file(path, 3 * Page + 100);
    ASSERT_EQ(file.error(), 0);
    std::thread([&] { trackedStore(file.working() + Page, 5); }).join(); // the program has several threads
    bool stored = false;
    auto store = [&] {
        stored = true;
        std::thread([&] { trackedStore(file.working() + change.stored_to, 7); }).join();
    };
    missing = [&](long number, long second) {
        if (!stored && number == change.step && (change.step_argument < 0 || second == change.step_argument))
            store();
        return 0;
    };
    EXPECT_EQ(change.make(file), 0);
    if (!stored)
        store();
    missing = nullptr;
    EXPECT_EQ(file.commit(), 0);
    file.close();
    EXPECT_EQ(wordOf(TrackedFile(path, 0), change.stored_to), 7u) << change.name;
}

TEST_P(Pages, StoredToBesideAResizeAreCommitted) {
    storeBeside(path, Cut);
    storeBeside(path + "2", Growth);
}

TEST_P(Uffd, PagesStoredToBesideARollbackAreCommitted) { storeBeside(path, Rollback); }

// munmap() and fsync() look which pages have changed. While the first one looks, the other must not find the same pages
// unchanged.
static void unmapBesideCommit(const std::string &path, bool unmaps_first) {
    int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    ASSERT_EQ(p_ftruncate(fd, Page), 0);
    void *memory = p_mmap(nullptr, Page, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    ASSERT_NE(memory, MAP_FAILED);
    trackedStore(static_cast<uint8_t *>(memory), 7);
    auto unmap = [&] { EXPECT_EQ(p_munmap(memory, Page), 0); };
    auto commit = [&] { EXPECT_EQ(p_fsync(fd), 0); };
    SlowCall first(unmaps_first ? std::function<void()>(unmap) : commit);
    first.begin();
    std::atomic<bool> done = false;
    std::atomic<pid_t> tid = 0;
    std::thread second([&] {
        tid = static_cast<pid_t>(syscall(SYS_gettid));
        unmaps_first ? commit() : unmap();
        done = true;
    });
    EXPECT_TRUE(awaitSleep(tid, &done)) << "the second call does not wait";
    first.end();
    second.join();
    p_close(fd); // uncommitted changes are discarded
    TrackedFile file(path, 0);
    EXPECT_EQ(*reinterpret_cast<uint64_t *>(file.working()), 7u);
}

TEST_P(Mprotect, LeavesNothingOutOfACommitBesideAnUnmapping) { unmapBesideCommit(path, true); }

TEST_P(Mprotect, LeavesNothingOutOfACommitUnderWayBesideAnUnmapping) { unmapBesideCommit(path, false); }

TEST_P(Mprotect, LeavesAChildNoLockThatAnotherThreadHeld) {
    TrackedFile file(path, Page);
    SlowCall store([&] { trackedStore(file.working(), 7); });
    store.begin();
    pid_t child = fork();
    if (child == 0) {
        alarm(5);
        snapshot_unmap(file.release());
        TrackedFile own(path + "-own", Page); // in the same place of the table of files
        trackedStore(own.working(), 3);
        _exit(own.error() == 0 && own.commit() == 0 ? 0 : 1);
    }
    store.end();
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

// Its addresses are nobody's when the file is closed.
TEST_P(Mprotect, LeavesFaultsAfterTheEndToOthers) {
    struct sigaction own{};
    own.sa_handler = [](int) { siglongjmp(elsewhere, 1); };
    auto body = [&] {
        sigaction(SIGSEGV, &own, nullptr);
        TrackedFile file(path, Page);
        volatile uint8_t *gone = file.working();
        file.close();
        if (sigsetjmp(elsewhere, 1) == 0) {
            *gone = 1;
            _exit(1);
        }
        _exit(0);
    };
    EXPECT_EXIT(body(), testing::ExitedWithCode(0), "");
}

} // namespace
