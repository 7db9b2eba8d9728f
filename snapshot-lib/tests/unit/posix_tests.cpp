// SPDX-License-Identifier: BSD-3-Clause
//
// The interposed calls on tracked files, one test per row of the table in docs/reference/snapshot-calls.md.
#include <atomic>
#include <fcntl.h>
#include <functional>
#include <linux/fs.h>
#include <memory>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <vector>

#include "file_test.hpp"
#include "posix_calls.hpp"

// The steps of interposed calls that change a folder; before one of them the process may be made to end.
static int steps_until_crash = -1;
// Addresses that the library has mapped and not unmapped yet; memory_tests.cpp looks at them.
std::atomic<long> library_pages;
static long pagesOf(long bytes) { return (bytes + 4095) / 4096; }
extern "C" long __real_syscall(long number, ...);
extern "C" long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    bool is_step = number == SYS_linkat || number == SYS_renameat2 || number == SYS_unlinkat;
    if (is_step && steps_until_crash-- == 0)
        _exit(0);
    long result = __real_syscall(number, a, b, c, d, e, f);
    if (number == SYS_mmap && result >= 0 && !(d & (MAP_FIXED | MAP_FIXED_NOREPLACE)))
        library_pages += pagesOf(b);
    if (number == SYS_munmap && result >= 0)
        library_pages -= pagesOf(b);
    return result;
}

namespace {

constexpr size_t Page = 4096;
constexpr int Shared = MAP_SHARED_VALIDATE | MAP_SYNC;

class Posix : public FileTest {
  protected:
    void SetUp() override {
        FileTest::SetUp();
        fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
        ASSERT_EQ(ftruncate(fd, 4 * Page), 0);
    }
    void TearDown() override {
        if (memory != MAP_FAILED)
            unmap();
        p_close(fd);
        FileTest::TearDown();
    }

    uint8_t *map(size_t bytes = 4 * Page, off_t offset = 0) {
        void *mapped = p_mmap(nullptr, bytes, PROT_READ | PROT_WRITE, Shared, fd, offset);
        if (memory == MAP_FAILED && mapped != MAP_FAILED)
            memory = static_cast<uint8_t *>(mapped) - offset;
        return static_cast<uint8_t *>(mapped);
    }
    // As often as pages are mapped.
    void unmap() {
        for (int times = 0; times < 4; times++)
            ASSERT_EQ(p_munmap(memory, size_t{1} << 29), 0);
        memory = MAP_FAILED;
    }
    // The end of the uncommitted data.
    void discard() { discardOf(""); }
    void discardOf(const std::string &suffix) {
        if (memory != MAP_FAILED)
            unmap();
        ASSERT_EQ(p_close(fd), 0);
        fd = open((path + suffix).c_str(), O_RDWR | O_CLOEXEC);
    }
    // The present content of the file, which must not be mapped.
    uint64_t committed(size_t offset) {
        uint64_t value = 0;
        EXPECT_EQ(pread(fd, &value, sizeof(value), static_cast<off_t>(offset)), 8);
        return value;
    }
    // The next three values, a commit each, in page 1 to 3.
    bool commitThrice(uint64_t value) {
        uint8_t *base = map();
        for (uint64_t i = 1; i <= 3; i++) {
            trackedStore(base + i * Page, value + i);
            if (p_msync(base, 4 * Page, MS_SYNC) < 0)
                return false;
        }
        return true;
    }
    bool hasLog(const std::string &suffix = "") const {
        return std::filesystem::exists(path + suffix + ".snapshot-log");
    }

    int fd = -1;
    void *memory = MAP_FAILED;
};

#define EXPECT_ERRNO(call, error)                                                                                      \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        EXPECT_TRUE((call) == decltype(call)(-1));                                                                     \
        EXPECT_EQ(errno, error);                                                                                       \
    } while (0)
#define EXPECT_NO_MAP(call, error)                                                                                     \
    do {                                                                                                               \
        errno = 0;                                                                                                     \
        EXPECT_EQ(call, MAP_FAILED);                                                                                   \
        EXPECT_EQ(errno, error);                                                                                       \
    } while (0)

// In a child process; returns its exit status.
int inChild(const std::function<bool()> &body) {
    pid_t child = fork();
    if (child == 0)
        _exit(body() ? 0 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

TEST_F(Posix, MappingsOfAFileLieInOneWorkingCopy) {
    uint8_t *whole = map();
    trackedStore(whole + 2 * Page, 5);
    EXPECT_EQ(map(Page, 2 * Page), whole + 2 * Page);
    int reader = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_EQ(p_mmap(nullptr, Page, PROT_READ, MAP_SHARED, reader, 2 * Page), whole + 2 * Page);
    close(reader);
    ASSERT_EQ(p_msync(whole + 2 * Page, Page, MS_SYNC), 0);
    unmap();
    EXPECT_EQ(committed(2 * Page), 5u);
}

TEST_F(Posix, FirstMappingMayBeOfAPart) {
    uint8_t *part = map(Page, 3 * Page);
    trackedStore(part, 7);
    EXPECT_EQ(map(), part - 3 * Page);
    EXPECT_EQ(p_munmap(part, Page), 0);
    EXPECT_EQ(p_msync(memory, 4 * Page, MS_SYNC), 0);
    unmap();
    EXPECT_EQ(committed(3 * Page), 7u);
}

TEST_F(Posix, PlaceOfAMappingIsNotForTheProgramToChoose) {
    alignas(Page) static uint8_t local[Page];
    EXPECT_NO_MAP(p_mmap(local, Page, PROT_WRITE, Shared | MAP_FIXED, fd, 0), EINVAL);
    EXPECT_NO_MAP(p_mmap(local, Page, PROT_WRITE, Shared | MAP_FIXED_NOREPLACE, fd, 0), EEXIST);
    EXPECT_NO_MAP(p_mmap(local + 1, Page, PROT_WRITE, Shared | MAP_FIXED_NOREPLACE, fd, 0), EINVAL);
    uint8_t *first = map();
    EXPECT_NO_MAP(p_mmap(first + Page, Page, PROT_WRITE, Shared | MAP_FIXED, fd, 0), EINVAL);
    EXPECT_NO_MAP(p_mmap(first + Page, Page, PROT_WRITE, Shared | MAP_FIXED_NOREPLACE, fd, 0), EEXIST);
    EXPECT_EQ(p_mmap(first, Page, PROT_WRITE, Shared | MAP_FIXED, fd, 0), first);
    EXPECT_NO_MAP(p_mmap(nullptr, Page, PROT_WRITE, Shared, fd, 7), EINVAL);
    EXPECT_NO_MAP(p_mmap(nullptr, 0, PROT_WRITE, Shared, fd, 0), EINVAL);
    EXPECT_NO_MAP(p_mmap(nullptr, size_t{1} << 31, PROT_WRITE, Shared, fd, 0), ENOMEM);
    unmap();
    EXPECT_NO_MAP(p_mmap(nullptr, (size_t{1} << 38) + 1, PROT_WRITE, Shared, fd, 0), EFBIG);
}

TEST_F(Posix, AddressOfLastTimeCanBeInsistedOn) {
    uint8_t *place = map();
    unmap();
    EXPECT_EQ(map(), place);
    unmap();
    memory = p_mmap(place, Page, PROT_READ | PROT_WRITE, Shared | MAP_FIXED_NOREPLACE, fd, 0);
    EXPECT_EQ(memory, place);
}

TEST_F(Posix, FileGrowsUnderALongerMapping) {
    ASSERT_EQ(ftruncate(fd, 0), 0);
    uint8_t *base = map(64 * Page);
    ASSERT_NE(base, MAP_FAILED);
    ASSERT_EQ(p_ftruncate(fd, 10 * Page), 0);
    trackedStore(base + 9 * Page, 3);
    ASSERT_EQ(p_msync(base, 64 * Page, MS_SYNC), 0);
    ASSERT_EQ(p_ftruncate(fd, Page), 0);
    ASSERT_EQ(p_ftruncate(fd, 10 * Page), 0);
    EXPECT_EQ(word(base + 9 * Page), 0u);
    EXPECT_ERRNO(p_ftruncate(fd, -1), EINVAL);
    EXPECT_ERRNO(p_ftruncate(fd, off_t{1} << 31), EFBIG);
}

TEST_F(Posix, UnmappingAPartKeepsTheRest) {
    uint8_t *base = map();
    trackedStore(base + Page, 1);
    EXPECT_EQ(p_munmap(base + Page, Page), 0);
    EXPECT_ERRNO(p_munmap(base + 1, Page), EINVAL);
    EXPECT_ERRNO(p_munmap(base, 0), EINVAL);
    EXPECT_EQ(p_munmap(base, Page), 0);
    EXPECT_EQ(p_msync(base + 2 * Page, 2 * Page, MS_SYNC), 0);
    EXPECT_EQ(p_munmap(base + 2 * Page, 2 * Page), 0); // the last
    memory = MAP_FAILED;
    EXPECT_EQ(committed(Page), 1u); // stored before its page was unmapped
    struct snapshot_stats stats;
    EXPECT_EQ(snapshot_get_stats(base, &stats), -EINVAL);
    EXPECT_ERRNO(p_msync(base, Page, MS_SYNC), ENOMEM);
    EXPECT_EQ(p_munmap(base, Page), 0);
    EXPECT_NO_MAP(p_mremap(base, Page, Page, 0), EFAULT);
}

TEST_F(Posix, MappingTwiceNeedsUnmappingTwice) {
    uint8_t *base = map();
    EXPECT_EQ(map(), base);
    EXPECT_EQ(p_munmap(base, 4 * Page), 0);
    trackedStore(base, 1);
    EXPECT_EQ(p_msync(base, 4 * Page, MS_SYNC), 0);
}

TEST_F(Posix, MremapWorksInPlace) {
    uint8_t *base = map(2 * Page);
    EXPECT_EQ(p_mremap(base, 2 * Page, 8 * Page, MREMAP_MAYMOVE), base);
    EXPECT_EQ(p_msync(base, 8 * Page, MS_SYNC), 0);
    EXPECT_EQ(p_mremap(base, 8 * Page, Page, 0), base);
    EXPECT_ERRNO(p_msync(base, 2 * Page, MS_SYNC), ENOMEM);
    EXPECT_NO_MAP(p_mremap(base, Page, Page, MREMAP_MAYMOVE | MREMAP_FIXED, base + 8 * Page), EINVAL);
    EXPECT_NO_MAP(p_mremap(base, Page, 0, 0), EINVAL);
    EXPECT_NO_MAP(p_mremap(base + Page, Page, Page, 0), EFAULT);
    EXPECT_NO_MAP(p_mremap(base, Page, (size_t{1} << 30) + 1, MREMAP_MAYMOVE), ENOMEM);
}

TEST_F(Posix, MsyncNeedsEveryPageOfItsRange) {
    uint8_t *base = map(4 * Page);
    EXPECT_EQ(p_munmap(base + Page, Page), 0);
    EXPECT_EQ(p_msync(base, Page, MS_SYNC), 0);
    EXPECT_ERRNO(p_msync(base + Page, Page, MS_SYNC), ENOMEM);
    EXPECT_ERRNO(p_msync(base, 4 * Page, MS_SYNC), ENOMEM);
    EXPECT_EQ(map(Page, Page), base + Page) << "two mappings, and one for the page between";
    EXPECT_EQ(p_msync(base, 4 * Page, MS_SYNC), 0);
    EXPECT_ERRNO(p_msync(base, SIZE_MAX & ~(Page - 1), MS_SYNC), ENOMEM);
}

TEST_F(Posix, MsyncOfARangeCommitsEverything) {
    uint8_t *base = map();
    trackedStore(base + 3 * Page, 1); // as LMDB does: the data pages, then the meta page
    EXPECT_EQ(p_msync(base + 3 * Page, Page, MS_SYNC), 0);
    trackedStore(base, 2);
    trackedStore(base + Page, 3);
    EXPECT_EQ(p_msync(base, Page, MS_ASYNC), 0);
    trackedStore(base, 4);
    discard();
    EXPECT_EQ(committed(3 * Page), 1u);
    EXPECT_EQ(committed(0), 2u);
    EXPECT_EQ(committed(Page), 3u);
}

TEST_F(Posix, MsyncFlags) {
    uint8_t *base = map();
    EXPECT_ERRNO(p_msync(base + 1, 1, MS_SYNC), EINVAL);
    EXPECT_ERRNO(p_msync(base, Page, MS_SYNC | MS_ASYNC), EINVAL);
    EXPECT_ERRNO(p_msync(base, Page, 64), EINVAL);
    EXPECT_ERRNO(p_msync(base, 4 * Page + 1, MS_SYNC), ENOMEM);
    trackedStore(base, 1);
    EXPECT_EQ(p_msync(base, Page, MS_INVALIDATE), 0);
    EXPECT_EQ(word(base), 0u);
    trackedStore(base, 2);
    EXPECT_EQ(p_msync(base, Page, MS_SYNC | MS_INVALIDATE), 0); // commits; then there is nothing to take back
    EXPECT_EQ(word(base), 2u);
    unmap();
    EXPECT_EQ(committed(0), 2u);
}

TEST_F(Posix, AdviceDoesNotDropTheWorkingCopy) {
    uint8_t *base = map();
    trackedStore(base, 9);
    EXPECT_EQ(p_madvise(base, Page, MADV_DONTNEED), 0);
    EXPECT_EQ(p_madvise(base, Page, MADV_WILLNEED), 0);
    EXPECT_EQ(word(base), 9u);
}

TEST_F(Posix, DescriptorAndMappingAgree) {
    uint8_t *base = map();
    uint64_t value = 11;
    EXPECT_EQ(p_pwrite(fd, &value, 8, 100), 8);
    EXPECT_EQ(word(base + 100), 11u);
    trackedStore(base + 200, 12);
    EXPECT_EQ(p_pread(fd, &value, 8, 200), 8);
    EXPECT_EQ(value, 12u);
    EXPECT_EQ(p_msync(base, Page, MS_INVALIDATE), 0); // writes by descriptor are part of the transaction
    EXPECT_EQ(word(base + 100), 0u);
    uint64_t parts[2] = {1, 2};
    struct iovec list[2] = {{&parts[0], 8}, {&parts[1], 8}};
    EXPECT_EQ(p_pwritev(fd, list, 2, 300), 16);
    EXPECT_EQ(word(base + 308), 2u);
    parts[1] = 0;
    EXPECT_EQ(p_preadv(fd, list, 2, 300), 16);
    EXPECT_EQ(parts[1], 2u);
    EXPECT_EQ(p_pread(fd, &value, 8, 4 * Page - 3), 3);
    EXPECT_EQ(p_pread(fd, &value, 8, 5 * Page), 0);
    EXPECT_ERRNO(p_pread(fd, &value, 8, -1), EINVAL);
    EXPECT_ERRNO(p_pwrite(fd, &value, 8, -1), EINVAL);
    int reader = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    EXPECT_ERRNO(p_pwrite(reader, &value, 8, 0), EBADF);
    close(reader);
    EXPECT_EQ(p_fdatasync(fd), 0);
    unmap();
    EXPECT_EQ(committed(308), 2u);
}

TEST_F(Posix, ReadAndWriteMoveTheFileOffset) {
    map();
    uint64_t value = 21;
    EXPECT_EQ(p_write(fd, &value, 8), 8);
    EXPECT_EQ(p_write(fd, &value, 8), 8);
    EXPECT_EQ(lseek(fd, 0, SEEK_CUR), 16);
    lseek(fd, 8, SEEK_SET);
    EXPECT_EQ(p_read(fd, &value, 8), 8);
    EXPECT_EQ(value, 21u);
    int appender = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    EXPECT_EQ(p_write(appender, &value, 8), 8);
    close(appender);
    EXPECT_EQ(std::filesystem::file_size(path), 4 * Page + 8);
    EXPECT_EQ(p_fsync(fd), 0);
    unmap();
    EXPECT_EQ(committed(4 * Page), 21u);
}

TEST_F(Posix, WriteBeyondTheEndGrowsTheFileAndASynchronousDescriptorCommits) {
    uint8_t *base = map();
    uint64_t value = 31;
    EXPECT_EQ(p_pwrite(fd, &value, 8, 6 * Page), 8);
    EXPECT_EQ(word(base + 6 * Page), 31u);
    int synchronous = open(path.c_str(), O_RDWR | O_DSYNC | O_CLOEXEC);
    EXPECT_EQ(p_pwrite(synchronous, &value, 8, 0), 8);
    close(synchronous);
    unmap();
    EXPECT_EQ(committed(0), 31u);
    EXPECT_EQ(committed(6 * Page), 31u);
}

TEST_F(Posix, ClosingTheDescriptorEndsNothing) {
    uint8_t *base = map();
    close(fd);
    trackedStore(base, 1);
    EXPECT_EQ(p_msync(base, Page, MS_SYNC), 0);
    fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    uint64_t value = 0;
    EXPECT_EQ(p_pread(fd, &value, 8, 0), 8);
    EXPECT_EQ(value, 1u);
}

TEST_F(Posix, AllocationAndHoles) {
    uint8_t *base = map();
    trackedStore(base, 1);
    EXPECT_EQ(p_posix_fallocate(fd, 0, 8 * Page), 0);
    EXPECT_EQ(std::filesystem::file_size(path), 8 * Page);
    EXPECT_EQ(p_fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 16 * Page), 0);
    EXPECT_EQ(std::filesystem::file_size(path), 8 * Page);
    EXPECT_ERRNO(p_fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, Page), EOPNOTSUPP);
    EXPECT_ERRNO(p_fallocate(fd, 0, 0, 0), EINVAL);
    trackedStore(base + 7 * Page, 2);
    EXPECT_EQ(p_fsync(fd), 0);
    unmap();
    EXPECT_EQ(committed(7 * Page), 2u);
}

TEST_F(Posix, LogFollowsTheSizeOfAClosedFile) {
    uint8_t *base = map();
    trackedStore(base, 1);
    EXPECT_EQ(p_fsync(fd), 0);
    unmap();
    EXPECT_EQ(p_ftruncate(fd, 6 * Page), 0);
    EXPECT_EQ(p_truncate(path.c_str(), 5 * Page), 0);
    ASSERT_NE(map(5 * Page), MAP_FAILED);
    EXPECT_EQ(word(static_cast<uint8_t *>(memory)), 1u);
    unmap();
    ASSERT_EQ(ftruncate(fd, 7 * Page), 0); // not by this library
    ASSERT_NE(map(7 * Page), MAP_FAILED);
    trackedStore(static_cast<uint8_t *>(memory) + 6 * Page, 2);
    EXPECT_EQ(p_fsync(fd), 0);
    unmap();
    EXPECT_EQ(committed(6 * Page), 2u);
}

// The lock of another process is asked for.
static bool isLocked(int fd) {
    return inChild([=] {
               struct flock lock{.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1, .l_pid = 0};
               return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
           }) == 0;
}

TEST_F(Posix, TruncatingByNameKeepsRecordLocks) {
    struct flock lock{.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1, .l_pid = 0};
    ASSERT_EQ(fcntl(fd, F_SETLK, &lock), 0);
    EXPECT_EQ(p_truncate(path.c_str(), 4 * Page), 0); // not tracked
    EXPECT_TRUE(isLocked(fd));
    ASSERT_NE(map(), MAP_FAILED);
    EXPECT_EQ(p_truncate(path.c_str(), 5 * Page), 0);
    EXPECT_TRUE(isLocked(fd));
    EXPECT_EQ(lseek(fd, 0, SEEK_END), 5 * Page);
    EXPECT_ERRNO(p_truncate((path + "/none").c_str(), 0), ENOTDIR);
    EXPECT_ERRNO(p_truncate((path + ".none").c_str(), 0), ENOENT);
    EXPECT_ERRNO(p_truncate("/dev/shm", 0), EISDIR);
    EXPECT_ERRNO(p_truncate(path.c_str(), -1), EINVAL);
}

TEST_F(Posix, TruncatingOpenStartsAnew) {
    uint8_t *base = map();
    trackedStore(base, 1);
    EXPECT_EQ(p_fsync(fd), 0);
    unmap();
    int again = p_open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ASSERT_GE(again, 0);
    close(again);
    EXPECT_EQ(p_ftruncate(fd, 4 * Page), 0);
    ASSERT_NE(map(), MAP_FAILED);
    EXPECT_EQ(word(static_cast<uint8_t *>(memory)), 0u);
}

TEST_F(Posix, EveryOpenMakesFilesAndCutsThem) {
    int folder = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    std::string other = path + "2";
    std::function<int(int)> opens[] = {
        [&](int flags) { return p_open(other.c_str(), flags, 0604); },
        [&](int flags) { return p_open64(other.c_str(), flags, 0604); },
        [&](int flags) { return p_openat(folder, "data2", flags, 0604); },
        [&](int flags) { return p_openat64(folder, "data2", flags, 0604); },
    };
    for (auto &opened_by : opens) {
        umask(0);
        int made = opened_by(O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
        struct stat status{};
        ASSERT_EQ(fstat(made, &status), 0);
        EXPECT_EQ(status.st_mode & 0777, 0604u);
        ASSERT_EQ(ftruncate(made, 100), 0);
        close(made);
        EXPECT_ERRNO(opened_by(O_RDWR | O_CREAT | O_EXCL), EEXIST);
        close(opened_by(O_RDWR | O_TRUNC | O_CLOEXEC));
        EXPECT_EQ(std::filesystem::file_size(other), 0u);
        p_unlink(other.c_str());
    }
    close(folder);
}

// Under redo the file trails the commits; under the others it has too much uncommitted data.
TEST_F(Posix, WhatACrashLeftIsRecoveredWhenTheFileIsOpened) {
    int folder = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    std::function<int()> opens[] = {
        [&] { return p_open(path.c_str(), O_RDONLY | O_CLOEXEC); },
        [&] { return p_openat(folder, "data", O_RDWR | O_CLOEXEC); },
        [&] { return p___openat_2(folder, "data", O_RDONLY | O_CLOEXEC); },
    };
    uint64_t value = 0;
    for (auto &opened_by : opens) {
        EXPECT_EQ(inChild([&] { return commitThrice(value); }), 0); // ends without unmapping
        int opened = opened_by();
        ASSERT_GE(opened, 0);
        close(opened);
        for (uint64_t i = 1; i <= 3; i++)
            EXPECT_EQ(committed(i * Page), ++value);
    }
    close(folder);
}

TEST_F(Posix, LogGoesWhereTheFileGoes) {
    uint8_t *base = map();
    trackedStore(base, 1);
    EXPECT_EQ(p_rename(path.c_str(), (path + "2").c_str()), 0); // while it is mapped
    EXPECT_TRUE(hasLog("2"));
    EXPECT_FALSE(hasLog());
    EXPECT_EQ(p_fsync(fd), 0);
    unmap();
    ASSERT_NE(map(), MAP_FAILED);
    EXPECT_EQ(word(static_cast<uint8_t *>(memory)), 1u);
    EXPECT_ERRNO(p_rename(path.c_str(), (path + "3").c_str()), ENOENT);
    EXPECT_EQ(p_unlink((path + "2").c_str()), 0);
    EXPECT_FALSE(hasLog("2"));
    trackedStore(static_cast<uint8_t *>(memory), 2); // goes on until it is unmapped
    EXPECT_EQ(p_fsync(fd), 0);
}

// By a process that is cut before one of the steps that the rename consists of; the file system keeps their order.
TEST_F(Posix, CrashWithinARenameLeavesFileAndLogTogether) {
    for (int step = 0; step <= 3; step++) {
        EXPECT_EQ(inChild([&] {
                      bool done = commitThrice(10);
                      steps_until_crash = step;
                      p_rename(path.c_str(), (path + "2").c_str());
                      return done;
                  }),
                  0);
        bool moved = std::filesystem::exists(path + "2");
        EXPECT_EQ(moved, step >= 2);
        if (moved)
            EXPECT_EQ(p_rename((path + "2").c_str(), path.c_str()), 0);
        ASSERT_NE(map(), MAP_FAILED) << "step " << step;
        for (uint64_t i = 1; i <= 3; i++)
            EXPECT_EQ(word(static_cast<uint8_t *>(memory) + i * Page), 10 + i) << "step " << step;
        unmap();
    }
}

TEST_F(Posix, CrashWithinARenameOverATrackedFileIsRefused) {
    TrackedFile(path + "2", 4 * Page).close();
    EXPECT_EQ(inChild([&] {
                  bool done = commitThrice(10);
                  steps_until_crash = 2; // the other file's log is still there
                  p_rename(path.c_str(), (path + "2").c_str());
                  return done;
              }),
              0);
    EXPECT_NO_MAP(p_mmap(nullptr, Page, PROT_WRITE, Shared, fd, 0), ESTALE);
    std::filesystem::rename(path + ".snapshot-log", path + "2.snapshot-log"); // as the message asks
    ASSERT_NE(map(), MAP_FAILED);
    EXPECT_EQ(word(static_cast<uint8_t *>(memory) + 3 * Page), 13u);
}

TEST_F(Posix, FileRenamedOverATrackedOneHasNoLogOfIt) {
    map();
    unmap();
    int other = open((path + "2").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    ASSERT_EQ(pwrite(other, "other", 5, 0), 5);
    ASSERT_EQ(ftruncate(other, 4 * Page), 0);
    std::filesystem::copy_file(path + ".snapshot-log", directory / "kept");
    EXPECT_EQ(p_rename((path + "2").c_str(), path.c_str()), 0);
    EXPECT_FALSE(hasLog());
    std::filesystem::rename(directory / "kept", path + ".snapshot-log");
    EXPECT_NO_MAP(p_mmap(nullptr, Page, PROT_WRITE, Shared, other, 0), ESTALE);
    std::filesystem::remove(path + ".snapshot-log");
    close(fd);
    fd = other;
    EXPECT_EQ(memcmp(map(), "other", 5), 0);
}

TEST_F(Posix, ChildHasAPrivateCopyAndCannotCommit) {
    uint8_t *base = map();
    trackedStore(base, 1);
    EXPECT_EQ(p_msync(base, Page, MS_SYNC), 0);
    trackedStore(base + 8, 2);
    EXPECT_EQ(inChild([&] {
                  trackedStore(base, 100);
                  trackedStore(base + Page, 100);
                  uint64_t value = 7;
                  bool refused = p_msync(base, Page, MS_SYNC) == -1 && errno == EPERM;
                  refused &= p_msync(base, Page, MS_INVALIDATE) == -1 && errno == EPERM;
                  refused &= p_fsync(fd) == -1 && errno == EPERM;
                  refused &= p_pwrite(fd, &value, 8, 0) == -1 && errno == EPERM;
                  refused &= p_ftruncate(fd, Page) == -1 && errno == EPERM;
                  refused &= p_mmap(nullptr, Page, PROT_WRITE, Shared, fd, 0) == MAP_FAILED && errno == EBUSY;
                  return refused && word(base) == 100 && p_munmap(base, 4 * Page) == 0;
              }),
              0);
    EXPECT_EQ(word(base), 1u);
    EXPECT_EQ(p_msync(base, Page, MS_SYNC), 0);
    unmap();
    EXPECT_EQ(committed(0), 1u);
    EXPECT_EQ(committed(8), 2u);
    EXPECT_EQ(committed(Page), 0u);
}

TEST_F(Posix, ChildMayMapAFileOfItsOwn) {
    uint8_t *base = map();
    EXPECT_EQ(inChild([&] {
                  TrackedFile own(directory / "own", Page);
                  trackedStore(own.working(), 5);
                  trackedStore(base, 6);
                  return own.error() == 0 && own.commit() == 0;
              }),
              0);
    TrackedFile own(directory / "own", 0);
    EXPECT_EQ(word(own.working()), 5u);
    EXPECT_EQ(word(base), 0u);
}

TEST_F(Posix, SecondProcessIsRefused) {
    int ready[2], done[2];
    ASSERT_EQ(pipe(ready) | pipe(done), 0);
    pid_t child = fork();
    char byte = 0;
    if (child == 0) {
        bool mapped = map() != MAP_FAILED;
        _exit(!mapped || write(ready[1], "x", 1) != 1 || read(done[0], &byte, 1) != 1);
    }
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_NO_MAP(p_mmap(nullptr, Page, PROT_WRITE, Shared, fd, 0), EBUSY);
    EXPECT_ERRNO(p_ftruncate(fd, Page), EBUSY);
    ASSERT_EQ(write(done[1], "x", 1), 1);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_NE(map(), MAP_FAILED);
}

// Programs unmap to map again, longer: their stores are still there, and still not committed.
TEST_F(Posix, TransactionGoesOnWhenAFileIsMappedAgain) {
    trackedStore(map(), 1);
    unmap();
    uint64_t value = 2;
    EXPECT_EQ(p_pwrite(fd, &value, 8, 5 * Page), 8); // it grows meanwhile
    EXPECT_ERRNO(p_msync(memory = map(6 * Page), 7 * Page, MS_SYNC), ENOMEM);
    uint8_t *base = static_cast<uint8_t *>(memory);
    EXPECT_EQ(word(base), 1u);
    EXPECT_EQ(word(base + 5 * Page), 2u);
    EXPECT_EQ(p_msync(base, Page, MS_INVALIDATE), 0);
    EXPECT_EQ(word(base), 0u);
    trackedStore(base, 3);
    unmap();
    EXPECT_EQ(p_rename(path.c_str(), (path + "2").c_str()), 0);
    EXPECT_EQ(p_fsync(fd), 0);
    EXPECT_EQ(p_pread(fd, &value, 8, 0), 8);
    EXPECT_EQ(value, 3u);
    discardOf("2");
    EXPECT_EQ(committed(0), 3u);
}

TEST_F(Posix, WhatWasNotCommittedIsGoneWithTheLastDescriptor) {
    std::function<int(int)> closes[] = {
        [](int last) { return p_close(last); },
        [](int last) { return p_close_range(static_cast<unsigned>(last), static_cast<unsigned>(last), 0); },
        [](int last) { return p_dup2(STDERR_FILENO, last) == last ? close(last) : -1; },
        [](int last) { return p_fclose(fdopen(last, "r")); },
    };
    for (auto &close_by : closes) {
        trackedStore(map(), 1);
        unmap();
        int last = fcntl(fd, F_DUPFD_CLOEXEC, 0); // not seen by the library
        EXPECT_EQ(p_close(fd), 0);
        EXPECT_EQ(inChild([&] { return TrackedFile(path, 0).error() == -EBUSY; }), 0);
        EXPECT_EQ(close_by(last), 0);
        EXPECT_EQ(inChild([&] { return TrackedFile(path, 0).error() == 0; }), 0);
        fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
        EXPECT_EQ(word(map()), 0u);
        unmap();
    }
    trackedStore(map(), 1);
    p_close(fd); // before the unmapping, as most programs do
    unmap();
    fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(word(map()), 0u);
}

TEST_F(Posix, FileThatIsNotMappedMakesRoomForOthers) {
    trackedStore(map(), 1);
    unmap();
    std::vector<std::unique_ptr<TrackedFile>> others;
    for (int i = 0; i < 31; i++)
        others.push_back(std::make_unique<TrackedFile>(path + "-" + std::to_string(i), Page));
    testing::internal::CaptureStderr();
    TrackedFile last(path + "-last", Page);
    std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(last.error(), 0);
    EXPECT_NE(said.find(path + ": is not mapped and makes room"), std::string::npos) << said;
    EXPECT_EQ(TrackedFile(path + "-more", Page).error(), -EMFILE);
    others.clear();
    EXPECT_EQ(word(map()), 0u);
}

TEST_F(Posix, FileThatIsNotMappedCanOutgrowItsRoom) {
    uint8_t *first = map();
    for (size_t page = 0; page < 4; page++)
        trackedStore(first + page * Page, page + 1);
    unmap();
    constexpr size_t more = size_t{3} << 30;
    ASSERT_EQ(p_ftruncate(fd, off_t{1} << 31), 0);
    ASSERT_NE(map(more), MAP_FAILED);
    uint8_t *base = static_cast<uint8_t *>(memory);
    ASSERT_EQ(p_ftruncate(fd, more), 0);
    trackedStore(base + more - 8, 9);
    ASSERT_EQ(p_msync(base, Page, MS_SYNC), 0);
    p_munmap(base, more);
    discard();
    EXPECT_EQ(committed(3 * Page), 4u);
    EXPECT_EQ(committed(more - 8), 9u);
    EXPECT_NE(base, first);
    EXPECT_EQ(map(Page), base) << "the log does not say where the file has been since";
}

TEST_F(Posix, UnmappingOneOfTwoThatOverlapKeepsTheOther) {
    uint8_t *base = map(4 * Page);
    EXPECT_EQ(map(3 * Page, Page), base + Page);
    EXPECT_EQ(p_munmap(base + 2 * Page, 2 * Page), 0); // the end of either
    EXPECT_EQ(p_munmap(base, 4 * Page), 0);
    EXPECT_EQ(p_msync(base + Page, Page, MS_SYNC), 0);
    EXPECT_EQ(p_mremap(base + Page, Page, 2 * Page, 0), base + Page);
    EXPECT_EQ(p_munmap(base + Page, 2 * Page), 0);
    memory = MAP_FAILED;
    EXPECT_ERRNO(p_msync(base + Page, Page, MS_SYNC), ENOMEM);
}

// A log that a crash left does not take back writes from elsewhere to the file.
TEST_F(Posix, DescriptorOpenedElsewhereFindsTheFileRecovered) {
    uint64_t value = 77;
    EXPECT_EQ(inChild([&] { return commitThrice(0); }), 0);
    int elsewhere = open(path.c_str(), O_RDWR | O_CLOEXEC); // by libc itself, or inherited
    EXPECT_EQ(p_pwrite(elsewhere, &value, 8, 2 * Page), 8);
    EXPECT_EQ(p_pread(elsewhere, &value, 8, 3 * Page), 8);
    EXPECT_EQ(value, 3u);
    close(elsewhere);
    EXPECT_EQ(word(map() + 2 * Page), 77u);
}

TEST_F(Posix, StreamsFindAFileRecoveredAndDoNotWriteBesideAMapping) {
    uint64_t value = 0;
    EXPECT_EQ(inChild([&] { return commitThrice(0); }), 0);
    FILE *stream = p_fopen(path.c_str(), "r+");
    ASSERT_NE(stream, nullptr);
    fseek(stream, 3 * Page, SEEK_SET);
    EXPECT_EQ(fread(&value, 8, 1, stream), 1u);
    EXPECT_EQ(value, 3u);
    EXPECT_EQ(p_fclose(stream), 0);
    trackedStore(map(), 1);
    EXPECT_EQ(p_fsync(fd), 0);
    for (const char *mode : {"w", "a", "r+"}) {
        errno = 0;
        EXPECT_EQ(p_fopen(path.c_str(), mode), nullptr);
        EXPECT_EQ(errno, EBUSY);
    }
    EXPECT_EQ(p_fdopen(fd, "r+"), nullptr);
    testing::internal::CaptureStderr();
    stream = p_fopen(path.c_str(), "r");
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "nothing is refused to a reader";
    EXPECT_EQ(fread(&value, 8, 1, stream), 1u);
    EXPECT_EQ(value, 1u);
    p_fclose(stream);
    unmap();
    p_fclose(p_fopen(path.c_str(), "w"));
    EXPECT_EQ(std::filesystem::file_size(path), 0u);
}

TEST_F(Posix, BlocksAreNotSharedWithAMapping) {
    int other = open((path + "2").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    map();
    EXPECT_ERRNO(p_ioctl(fd, FICLONE, other), EOPNOTSUPP);
    struct file_clone_range range = {.src_fd = other, .src_offset = 0, .src_length = 0, .dest_offset = 0};
    EXPECT_ERRNO(p_ioctl(fd, FICLONERANGE, &range), EOPNOTSUPP);
    int available = -1;
    EXPECT_ERRNO(p_ioctl(other, FIONREAD + 4096, &available), ENOTTY);
    close(other);
}

TEST_F(Posix, NamesInAFolderTakeTheLogAlong) {
    int folder = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    map();
    EXPECT_EQ(p_renameat(folder, "data", folder, "data2"), 0);
    EXPECT_TRUE(hasLog("2") && !hasLog());
    EXPECT_ERRNO(p_renameat2(folder, "data2", folder, "data2", RENAME_NOREPLACE), EEXIST);
    EXPECT_ERRNO(p_renameat2(folder, "data2", folder, "data", RENAME_EXCHANGE), EINVAL);
    EXPECT_EQ(p_renameat2(folder, "data2", folder, "data", RENAME_NOREPLACE), 0);
    EXPECT_TRUE(hasLog() && !hasLog("2"));
    EXPECT_EQ(p_unlinkat(folder, "data", 0), 0);
    EXPECT_FALSE(hasLog());
    std::filesystem::create_directory(path);
    EXPECT_EQ(p_remove(path.c_str()), 0);
    EXPECT_ERRNO(p_unlinkat(folder, "data", AT_REMOVEDIR), ENOENT);
    close(folder);
}

TEST_F(Posix, EachLossIsNamed) {
    setenv("SNAPSHOT_CHECK", "1", 1);
    auto said = [](const std::function<void()> &body) {
        testing::internal::CaptureStderr();
        body();
        return testing::internal::GetCapturedStderr();
    };
    for (bool unmaps_first : {true, false}) {
        uint8_t *base = map();
        trackedStore(base + Page, 1);
        EXPECT_EQ(p_fsync(fd), 0);
        trackedStore(base + Page + 64, 2);
        trackedStore(base + 2 * Page, 3);
        std::string report = said([&] {
            if (unmaps_first)
                unmap();
            p_close(fd);
            if (!unmaps_first)
                unmap();
        });
        EXPECT_NE(report.find("data: 2 line(s) were stored and not committed, first at byte 64 of page 1"),
                  std::string::npos)
            << report;
        EXPECT_NE(report.find(unmaps_first ? "last descriptor was closed" : "last mapping and descriptor are gone"),
                  std::string::npos)
            << report;
        fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    }
    EXPECT_EQ(said([&] {
                  trackedStore(map(), 1);
                  EXPECT_EQ(p_msync(memory, Page, MS_INVALIDATE), 0);
                  discard();
              }),
              "");
    unsetenv("SNAPSHOT_CHECK");
}

TEST_F(Posix, EscapedWritesAreCountedOnce) {
    setenv("SNAPSHOT_CHECK", "1", 1);
    uint8_t *base = map();
    unsetenv("SNAPSHOT_CHECK");
    trackedStore(base, 1);
    base[64] = 1;                // line 1
    base[3 * Page + 4095] = 1;   // the last line
    memset(base + Page, 1, 128); // two lines
    snapshot_log_range(base + 200, 8);
    base[201] = 1;
    struct snapshot_stats stats;
    for (int i = 0; i < 2; i++) {
        testing::internal::CaptureStderr();
        EXPECT_EQ(p_msync(base, Page, MS_SYNC), 0);
        std::string report = testing::internal::GetCapturedStderr();
        EXPECT_EQ(report.find("page 1: 2 line(s)") != std::string::npos, i == 0) << report;
        snapshot_get_stats(base, &stats);
        EXPECT_EQ(stats.lines_untracked, 4u);
        ASSERT_EQ(p_ftruncate(fd, (8 - 3 * i) * Page), 0); // sizes change under the detector
    }
    trackedStore(base, 2);
    base[130] = 1; // line 2
    EXPECT_EQ(p_msync(base, Page, MS_INVALIDATE), 0);
    base[201] = 2; // announced in an earlier transaction
    EXPECT_EQ(p_msync(base, Page, MS_SYNC), 0);
    snapshot_get_stats(base, &stats);
    EXPECT_EQ(stats.lines_untracked, 6u);
}

} // namespace
