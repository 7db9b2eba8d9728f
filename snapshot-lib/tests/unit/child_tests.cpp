// SPDX-License-Identifier: BSD-3-Clause
//
// Every public function and interposed call on a tracked file in a forked child, while another thread of the parent
// commits: none hangs, none changes the parent's file.
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <gtest/gtest.h>
#include <thread>

#include "file_test.hpp"
#include "posix_calls.hpp"

extern char **environ;

// A log that grows does so with a lock, which a thread can be made to hold.
thread_local std::atomic<bool> *growth_waits_for;
std::atomic<bool> log_grows;
int fallocate_error; // the return value of such a call, for all tests of the program; 0: it is made
extern "C" int __real_posix_fallocate(int fd, off_t offset, off_t bytes);
extern "C" int __wrap_posix_fallocate(int fd, off_t offset, off_t bytes) {
    log_grows = log_grows || growth_waits_for;
    while (growth_waits_for && !*growth_waits_for)
        std::this_thread::yield();
    return fallocate_error ? fallocate_error : __real_posix_fallocate(fd, offset, bytes);
}

namespace {

constexpr size_t Page = 4096, Bytes = 64 * Page;
constexpr unsigned TimeLimitSeconds = 5;

struct Inherited {
    uint8_t *memory;
    int fd;
    std::string path;
};

bool failsWith(long result, int error) { return result == -1 && errno == error; }
bool refused(long result) { return failsWith(result, EPERM); }

int endOf(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

bool storesAreItsOwn(const Inherited &file) {
    snapshot_log_range(file.memory + Page, 8);
    memset(file.memory + Page, 0xee, 8);
    return file.memory[Page] == 0xee;
}

bool mapsAFileOfItsOwn(const Inherited &file) {
    TrackedFile own(file.path + "-own" + std::to_string(getpid()), Page);
    if (own.error())
        return false;
    trackedStore(own.working(), 5);
    return own.commit() == 0;
}

bool aThreadStoresAndEnds(const Inherited &file) {
    std::thread([&] { storesAreItsOwn(file); }).join();
    return true;
}

bool aGrandchildIsRefused(const Inherited &file) {
    pid_t grandchild = fork();
    if (grandchild == 0) {
        alarm(TimeLimitSeconds); // a parent does not pass it on
        struct snapshot_stats stats{};
        bool right = snapshot_sync(file.memory) == -EPERM && snapshot_get_stats(file.memory, &stats) == 0;
        _exit(right && snapshot_unmap(file.memory) == 0 ? 0 : 1);
    }
    return endOf(grandchild) == 0;
}

bool anotherProgramRuns(const Inherited &) {
    pid_t child = 0;
    char name[] = "true", *arguments[] = {name, nullptr};
    return posix_spawnp(&child, name, nullptr, nullptr, arguments, environ) == 0 && endOf(child) == 0;
}

bool readsTheWorkingCopy(const Inherited &file) {
    uint64_t value = 0;
    storesAreItsOwn(file);
    return p_pread(file.fd, &value, 8, Page) == 8 && value == 0xeeeeeeeeeeeeeeee;
}

struct Call {
    const char *name;
    bool (*holds)(const Inherited &);
};

#define RETURNS(call, result) [](const Inherited &f) { return (void)f, (call) == (result); }
#define REFUSED(call) [](const Inherited &f) { return refused(call); }

const Call Calls[] = {
    {"snapshot_map of the parent's file",
     [](const Inherited &f) {
         TrackedFile again(f.path, 0);
         return again.error() == -EBUSY;
     }},
    {"snapshot_map of another file", mapsAFileOfItsOwn},
    {"snapshot_sync", RETURNS(snapshot_sync(f.memory), -EPERM)},
    {"snapshot_rollback", RETURNS(snapshot_rollback(f.memory), -EPERM)},
    {"snapshot_resize", RETURNS(snapshot_resize(f.memory, Page), -EPERM)},
    {"snapshot_log_range", storesAreItsOwn},
    {"snapshot_get_stats",
     [](const Inherited &f) {
         struct snapshot_stats stats{};
         return snapshot_get_stats(f.memory, &stats) == 0;
     }},
    {"snapshot_unmap", RETURNS(snapshot_unmap(f.memory), 0)},
    {"msync MS_SYNC", REFUSED(p_msync(f.memory, Bytes, MS_SYNC))},
    {"msync MS_ASYNC", REFUSED(p_msync(f.memory, Bytes, MS_ASYNC))},
    {"msync MS_INVALIDATE", REFUSED(p_msync(f.memory, Bytes, MS_INVALIDATE))},
    {"munmap of a part", RETURNS(p_munmap(f.memory, Page), 0)},
    {"munmap", RETURNS(p_munmap(f.memory, Bytes), 0)},
    {"mremap", RETURNS(p_mremap(f.memory, Bytes, Page, 0), f.memory)},
    {"madvise", RETURNS(p_madvise(f.memory, Bytes, MADV_DONTNEED), 0)},
    {"mmap of the parent's file",
     [](const Inherited &f) {
         void *again = p_mmap(nullptr, Bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, f.fd, 0);
         return again == MAP_FAILED && errno == EBUSY;
     }},
    {"fsync", REFUSED(p_fsync(f.fd))},
    {"fdatasync", REFUSED(p_fdatasync(f.fd))},
    {"ftruncate", REFUSED(p_ftruncate(f.fd, Page))},
    {"truncate", REFUSED(p_truncate(f.path.c_str(), Page))},
    {"posix_fallocate", RETURNS(p_posix_fallocate(f.fd, 0, 2 * Bytes), EPERM)},
    {"write", REFUSED(p_write(f.fd, "x", 1))},
    {"pwrite", REFUSED(p_pwrite(f.fd, "x", 1, Page))},
    {"pread", readsTheWorkingCopy},
    {"close", RETURNS(p_close(f.fd), 0)},
    {"munmap and close", RETURNS(p_munmap(f.memory, Bytes) + p_close(f.fd), 0)},
    {"dup2", RETURNS(p_dup2(0, f.fd), f.fd)},
    {"close_range", RETURNS(p_close_range(3, ~0u, 0), 0)},
    {"exit",
     [](const Inherited &f) {
         storesAreItsOwn(f);
         exit(0);
         return false;
     }},
    {"the end of a thread that stores", aThreadStoresAndEnds},
    {"fork", aGrandchildIsRefused},
    {"posix_spawn", anotherProgramRuns},
#ifdef SNAPSHOT_EPOCHS
    {"snapshot_epochs_start",
     [](const Inherited &f) {
         struct snapshot_epochs options{};
         options.period_ns = options.timeout_ns = 1;
         return snapshot_epochs_start(f.memory, &options) == -EPERM;
     }},
    {"snapshot_epochs_stop", RETURNS(snapshot_epochs_stop(f.memory), -EPERM)},
    {"snapshot_epoch_enter", RETURNS(snapshot_epoch_enter(f.memory), -EPERM)},
    {"snapshot_epoch_leave", RETURNS(snapshot_epoch_leave(f.memory), -EPERM)},
    {"snapshot_epoch_point", RETURNS(snapshot_epoch_point(f.memory), -EPERM)},
    {"snapshot_epoch_idle", RETURNS(snapshot_epoch_idle(f.memory, true), -EPERM)},
    {"snapshot_epochs_replay", RETURNS(snapshot_epochs_replay(f.memory), -EPERM)},
    {"snapshot_epochs_get_stats",
     [](const Inherited &f) {
         struct snapshot_epochs_stats stats{};
         return snapshot_epochs_get_stats(f.memory, &stats) == 0;
     }},
#endif
};

std::atomic<bool> in_clock, leave_clock;
std::atomic<Inherited *> inherited_early;

// The library reads this clock with its locks held.
[[maybe_unused]] uint64_t standingClock() {
    in_clock = true;
    while (!leave_clock)
        std::this_thread::yield();
    return 1;
}

class Child : public FileTest {
  protected:
    void SetUp() override {
        FileTest::SetUp();
#ifdef SNAPSHOT_EPOCHS
        setenv("SNAPSHOT_PROTOCOL", "epoch", 1);
#endif
        file.path = (directory / "parent").string();
        file.fd = open(file.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        ASSERT_EQ(p_ftruncate(file.fd, Bytes), 0);
        void *mapped = p_mmap(nullptr, Bytes, PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, file.fd, 0);
        ASSERT_NE(mapped, MAP_FAILED);
        file.memory = static_cast<uint8_t *>(mapped);
    }
    void TearDown() override {
        p_munmap(file.memory, Bytes);
        p_close(file.fd);
#ifdef SNAPSHOT_EPOCHS
        unsetenv("SNAPSHOT_PROTOCOL");
#endif
        FileTest::TearDown();
    }

    // A thread that commits again and again, and with epochs holds their locks until the end.
    void commitMeanwhile() {
        in_clock = leave_clock = ends = false;
#ifdef SNAPSHOT_EPOCHS
        struct snapshot_epochs options{};
        options.period_ns = SNAPSHOT_EPOCHS_BY_CALL;
        options.timeout_ns = 1000000000;
        options.now_ns = standingClock;
        ASSERT_EQ(snapshot_epochs_start(file.memory, &options), 0);
#else
        in_clock = true;
#endif
        committer = std::thread([this] {
            do {
                value++;
                for (size_t page = 2; page < 64; page++)
                    trackedStore(file.memory + page * Page, value);
                EXPECT_EQ(p_msync(file.memory, Bytes, MS_SYNC), 0);
            } while (!ends);
        });
        while (!in_clock)
            std::this_thread::yield();
    }
    void commitNoMore() {
        ends = leave_clock = true;
        committer.join();
    }

    // The exit status of a child that makes the call, which a signal ends if it takes too long.
    int statusOf(const Call &call) {
        pid_t child = fork();
        if (child == 0) {
            alarm(TimeLimitSeconds);
            _exit(call.holds(file) ? 0 : 1);
        }
        return endOf(child);
    }

    Inherited file;
    std::thread committer;
    std::atomic<bool> ends;
    uint64_t value = 0;
};

TEST_F(Child, NoCallHangsOrChangesTheFileOfTheParent) {
    commitMeanwhile();
    for (const Call &call : Calls) {
        int status = statusOf(call);
        EXPECT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) << call.name << " hangs";
        EXPECT_EQ(status, 0) << call.name;
    }
    commitNoMore();
    EXPECT_EQ(word(file.memory + Page), 0u) << "a child's stores are its own";
    ASSERT_EQ(p_munmap(file.memory, Bytes), 0);
    ASSERT_EQ(p_close(file.fd), 0);
    file.fd = open(file.path.c_str(), O_RDWR | O_CLOEXEC);
    uint64_t kept = 0;
    EXPECT_EQ(pread(file.fd, &kept, 8, 63 * Page), 8);
    EXPECT_EQ(kept, value);
    EXPECT_EQ(lseek(file.fd, 0, SEEK_END), static_cast<off_t>(Bytes));
}

bool growsTheLogOfAFileOfItsOwn(const Inherited &file) {
    TrackedFile own(file.path + "-own", Bytes);
    for (size_t line = 0; line < Bytes / 64; line++)
        trackedStore(own.working() + line * 64, line);
    return own.error() == 0 && own.commit() == 0;
}

// A call of the parent's uses a descriptor of its file. No such call goes on in the child, which can close the file.
TEST_F(Child, DoesNotWaitForALogThatTheParentGrows) {
    std::atomic<bool> goes_on = false;
    log_grows = false;
    std::thread grower([&] {
        growth_waits_for = &goes_on;
        for (size_t line = 0; line < Bytes / 64; line++)
            trackedStore(file.memory + line * 64, line);
        EXPECT_EQ(p_fsync(file.fd), 0);
        growth_waits_for = nullptr;
    });
    while (!log_grows)
        std::this_thread::yield();
    EXPECT_EQ(statusOf({"growth of a log", growsTheLogOfAFileOfItsOwn}), 0);
    EXPECT_EQ(statusOf({"snapshot_unmap", RETURNS(snapshot_unmap(f.memory), 0)}), 0);
    goes_on = true;
    grower.join();
}

// The child lives on while the parent closes and opens the file. The pipe tells it when to end.
class LivingChild {
  public:
    LivingChild() {
        if (pipe(ends) < 0 || pipe(begun) < 0)
            abort();
    }
    // Returns when the child has given up its parent's mappings.
    void begin() {
        char byte = 0;
        pid = fork();
        if (pid > 0) {
            EXPECT_EQ(::read(begun[0], &byte, 1), 1);
            return;
        }
        ::close(ends[1]);
        bool right = ::write(begun[1], &byte, 1) == 1 && ::read(ends[0], &byte, 1) == 0;
        _exit(right ? 0 : 1);
    }
    int end() const {
        for (int fd : {ends[1], ends[0], begun[0], begun[1]})
            ::close(fd);
        return endOf(pid);
    }

  private:
    int ends[2], begun[2];
    pid_t pid = -1;
};

TEST_F(Child, KeepsNoLockOfTheParentsFile) {
    LivingChild child;
    child.begin();
    ASSERT_EQ(p_munmap(file.memory, Bytes), 0);
    EXPECT_EQ(TrackedFile(file.path, 0).error(), 0);
    EXPECT_EQ(child.end(), 0);
}

TEST_F(Child, IsNotMadeInTheMiddleOfAnOpening) {
    std::atomic<bool> goes_on = false;
    std::string path = file.path + "-new";
    LivingChild child;
    log_grows = false;
    std::thread opener([&] {
        growth_waits_for = &goes_on;
        TrackedFile half(path, Bytes);
        growth_waits_for = nullptr;
        EXPECT_EQ(half.error(), 0);
    });
    while (!log_grows)
        std::this_thread::yield();
    std::thread forker([&] { child.begin(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    goes_on = true;
    opener.join();
    forker.join();
    EXPECT_EQ(TrackedFile(path, 0).error(), 0) << "the child has the lock of a file that was half open";
    EXPECT_EQ(child.end(), 0);
}

bool early_result;
void commitInTheChild() {
    Inherited *file = inherited_early;
    if (!file)
        return;
    alarm(TimeLimitSeconds);
    early_result = refused(p_msync(file->memory, Bytes, MS_SYNC));
}
// Registered before any test maps a file, so that it runs before handlers that the library registers by then.
const int registered = pthread_atfork(nullptr, nullptr, commitInTheChild);

TEST_F(Child, AHandlerOfTheProgramIsRefusedToo) {
    ASSERT_EQ(registered, 0);
    trackedStore(file.memory, 7);
    inherited_early = &file;
    pid_t child = fork();
    if (child == 0)
        _exit(early_result ? 0 : 1);
    inherited_early = nullptr;
    EXPECT_EQ(endOf(child), 0);
    EXPECT_EQ(p_msync(file.memory, Bytes, MS_SYNC), 0);
}

TEST_F(Child, OfVforkTakesNothingFromTheParentByClosingDescriptors) {
    trackedStore(file.memory, 9);
    ASSERT_EQ(p_munmap(file.memory, Bytes), 0); // the transaction goes on while the descriptor is open
    pid_t child = vfork();
    if (child == 0) {
        p_close(file.fd);
        _exit(0);
    }
    EXPECT_EQ(endOf(child), 0);
    uint64_t kept = 0;
    EXPECT_EQ(p_pread(file.fd, &kept, 8, 0), 8);
    EXPECT_EQ(kept, 9u) << "the descriptor is open in the parent";
}

} // namespace
