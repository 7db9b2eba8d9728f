// SPDX-License-Identifier: BSD-3-Clause
//
// The engine fams-exchange: the cost of a commit in system calls, bytes and page faults, and the message if a part of
// it is missing. exchangeRanges() stands in for the kernel's.
#include <linux/userfaultfd.h>
#include <sys/syscall.h>

#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <ostream>

#include "exchange_ranges.hpp"
#include "fams_exchange.hpp"
#include "own_folder.hpp"
#include "page_faults.hpp"

using engines::FamsExchange;
using engines::OpenMode;

struct Calls {
    uint64_t scans = 0, punches = 0, writes = 0, exchanges = 0, bytes = 0;
    bool operator==(const Calls &) const = default;
};

static std::ostream &operator<<(std::ostream &out, const Calls &calls) {
    return out << calls.scans << " scans, " << calls.punches << " punches, " << calls.writes << " writes, "
               << calls.exchanges << " exchanges, " << calls.bytes << " bytes";
}

enum class Call { Userfaultfd, Scan, Punch, Write, Exchange };
static constexpr long ScanCall = _IOC(_IOC_READ | _IOC_WRITE, 'f', 16, 96);

static Calls calls;
static std::function<int(Call)> refused; // the error of such a call, or 0 for its real result
static size_t longest_write;             // of one call
static uint64_t faults_of_exchanges;     // which the kernel's would not take

static bool fails(Call call) {
    int error = refused ? refused(call) : 0;
    errno = error;
    return error != 0;
}

extern "C" {
long __real_syscall(long number, ...);
ssize_t __real_pwrite(int fd, const void *bytes, size_t count, off_t offset);
int __real_fallocate(int fd, int mode, off_t offset, off_t length);

long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
    bool is_scan = number == SYS_ioctl && b == ScanCall;
    calls.scans += is_scan;
    if ((is_scan && fails(Call::Scan)) || (number == SYS_userfaultfd && fails(Call::Userfaultfd)))
        return -1;
    return __real_syscall(number, a, b, c, d, e, f);
}

int __wrap_ioctl(int fd, unsigned long, engines::ExchangeRange *all) {
    calls.exchanges++;
    if (fails(Call::Exchange))
        return -1;
    int error = 0;
    faults_of_exchanges += faults([&] { error = exchangeRanges(fd, *all); });
    errno = error;
    return error ? -1 : 0;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    calls.writes++;
    if (fails(Call::Write))
        return -1;
    ssize_t done = __real_pwrite(fd, bytes, std::min(count, longest_write), offset);
    calls.bytes += done > 0 ? static_cast<uint64_t>(done) : 0;
    return done;
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t length) {
    calls.punches++;
    return fails(Call::Punch) ? -1 : __real_fallocate(fd, mode, offset, length);
}
}

namespace {

constexpr size_t Page = 4096, Pages = 64, PoolBytes = (Pages + 16) * Page;

struct Root {
    char bytes[(Pages + 1) * Page];
};

class Exchange : public OwnFolder {
  protected:
    void SetUp() override {
        OwnFolder::SetUp();
        longest_write = SIZE_MAX;
    }
    void TearDown() override {
        refused = nullptr;
        OwnFolder::TearDown();
    }

    // With whole pages for the tests, committed and zero.
    std::unique_ptr<FamsExchange> make() {
        auto engine = std::make_unique<FamsExchange>(path, PoolBytes, OpenMode::Create);
        engine->transaction([&] { engine->root<Root>(); });
        return engine;
    }
    std::unique_ptr<FamsExchange> reopen() { return std::make_unique<FamsExchange>(path, 0, OpenMode::OpenExisting); }

    static char &page(FamsExchange &engine, size_t number) {
        auto first = (reinterpret_cast<uintptr_t>(engine.root<Root>()) + Page - 1) / Page * Page;
        return *reinterpret_cast<char *>(first + number * Page);
    }

    static void store(FamsExchange &engine, size_t first, size_t count, char value) {
        for (size_t i = first; i < first + count; i++)
            *const_cast<volatile char *>(&page(engine, i)) = value;
    }

    static Calls commit(FamsExchange &engine, const std::function<void()> &change) {
        calls = {};
        engine.transaction(change);
        return calls;
    }

    // The exception of a call that fails with this error, with these words.
    static void expectError(int error, const std::string &words, const std::function<void()> &call) {
        try {
            call();
            FAIL() << "no error, not " << words;
        } catch (const std::system_error &thrown) {
            EXPECT_EQ(thrown.code().value(), error) << words;
            EXPECT_NE(std::string(thrown.what()).find(words), std::string::npos) << thrown.what();
        }
    }
};

TEST_F(Exchange, TakesAWriteForEachRunOfPagesAndThreeCallsMore) {
    auto engine = make();
    const uint64_t before_bytes = engine->statistics().data_bytes;
    EXPECT_EQ(commit(*engine, [&] { store(*engine, 3, 1, 1); }), (Calls{1, 1, 1, 1, Page}));
    EXPECT_EQ(commit(*engine, [&] { store(*engine, 8, 10, 1); }), (Calls{1, 1, 1, 1, 10 * Page}));
    Calls apart = commit(*engine, [&] {
        for (size_t i = 20; i < 40; i += 2)
            store(*engine, i, 1, 1);
    });
    EXPECT_EQ(apart, (Calls{1, 1, 10, 1, 10 * Page}));
    EXPECT_EQ(engine->statistics().data_bytes, before_bytes + 21 * Page) << "as it counts itself";
    EXPECT_EQ(engine->statistics().fences, 0u) << "they are the kernel's";
}

TEST_F(Exchange, OfNothingIsNone) {
    auto engine = make();
    EXPECT_EQ(commit(*engine, [] {}), (Calls{1, 0, 0, 0, 0}));
    EXPECT_EQ(engine->statistics().commits, 2u);
}

// The first store to a page since it was committed takes one page fault, and a commit takes none.
TEST_F(Exchange, TakesOneFaultForEachPage) {
    constexpr size_t count = 32, spare = 4; // the kernel may take some of its own
    auto engine = make();
    for (int times = 0; times < 2; times++) {
        uint64_t of_stores = faults([&] { store(*engine, 0, count, static_cast<char>(times)); });
        EXPECT_GE(of_stores, count);
        EXPECT_LE(of_stores, count + spare);
        EXPECT_LE(faults([&] { store(*engine, 0, count, 9); }), spare) << "pages that were stored to";
        engine->transaction([] {});
    }
    uint64_t least = UINT64_MAX;
    for (int times = 0; times < 8; times++) {
        store(*engine, 0, count, static_cast<char>(times));
        faults_of_exchanges = 0;
        uint64_t taken = faults([&] { engine->transaction([] {}); });
        least = std::min(least, taken - faults_of_exchanges);
    }
    EXPECT_EQ(least, 0u);
}

TEST_F(Exchange, KeepsWhatWasCommittedAndNothingElse) {
    {
        auto engine = make();
        engine->transaction([&] { store(*engine, 0, 3, 1); });
        engine->transaction([&] { store(*engine, 2, 3, 2); });
        store(*engine, 4, 2, 3);
    }
    auto engine = reopen();
    const std::string wanted = {1, 1, 2, 2, 2, 0};
    for (size_t i = 0; i < wanted.size(); i++)
        EXPECT_EQ(page(*engine, i), wanted[i]) << i;
    EXPECT_EQ(commit(*engine, [] {}).writes, 0u) << "filling the memory is no store of the program";
}

TEST_F(Exchange, IsOfWholePagesHoweverManyBytesACallWrites) {
    auto engine = make();
    longest_write = 1000;
    EXPECT_EQ(commit(*engine, [&] { store(*engine, 0, 2, 7); }), (Calls{1, 1, 9, 1, 2 * Page}));
    EXPECT_EQ(page(*reopen(), 1), 7);
}

TEST_F(Exchange, ThatFailsLeavesTheFileAndIsMadeUpForByTheNext) {
    const struct {
        Call call;
        int error;
        const char *words;
    } cases[] = {
        {Call::Punch, EIO, "cannot empty the staging file"},
        {Call::Write, ENOSPC, "cannot write pages"},
        {Call::Exchange, ENOSPC, "cannot exchange pages"},
        {Call::Scan, EPERM, "cannot list the pages"},
    };
    for (const auto &one : cases) {
        auto engine = make();
        refused = [&](Call call) { return call == one.call ? one.error : 0; };
        expectError(one.error, one.words, [&] { engine->transaction([&] { store(*engine, 0, 2, 5); }); });
        refused = nullptr;
        EXPECT_EQ(page(*reopen(), 1), 0) << one.words;
        engine->transaction([&] { store(*engine, 1, 1, 6); });
        auto again = reopen();
        EXPECT_EQ(page(*again, 0), 5) << one.words;
        EXPECT_EQ(page(*again, 1), 6) << one.words;
    }
}

TEST_F(Exchange, IsRefusedWhereSomethingIsMissingAndLeavesNoPool) {
    const struct {
        Call call;
        int error, thrown;
        const char *words;
    } cases[] = {
        {Call::Exchange, ENOTTY, ENOTTY, "needs Linux 6.10 and XFS made with mkfs.xfs -i exchange=1"},
        {Call::Exchange, EOPNOTSUPP, EOPNOTSUPP, "needs Linux 6.10 and XFS made with mkfs.xfs -i exchange=1"},
        {Call::Exchange, EIO, EIO, "cannot make a staging file"},
        {Call::Userfaultfd, ENOSYS, EOPNOTSUPP, "(Linux 6.7)"},
        {Call::Userfaultfd, EPERM, EPERM, "may not use userfaultfd"},
        {Call::Userfaultfd, ENFILE, ENFILE, "cannot be tracked by pages"},
        {Call::Scan, ENOTTY, EOPNOTSUPP, "PAGEMAP_SCAN (Linux 6.7)"},
    };
    for (const auto &one : cases) {
        refused = [&](Call call) { return call == one.call ? one.error : 0; };
        expectError(one.thrown, one.words, [&] { make(); });
        EXPECT_FALSE(std::filesystem::exists(path)) << one.words;
        refused = nullptr;
        make();
        refused = [&](Call call) { return call == one.call ? one.error : 0; };
        expectError(one.thrown, one.words, [&] { reopen(); });
        EXPECT_EQ(std::filesystem::file_size(path), PoolBytes) << "a pool that there was stays";
        refused = nullptr;
        std::filesystem::remove(path);
    }
}

TEST_F(Exchange, OfAPoolThatNeverWasCommitsNothing) {
    EXPECT_THROW(reopen(), engines::NoPool);
    FamsExchange(path, PoolBytes, OpenMode::Create);
    EXPECT_THROW(reopen(), engines::NoPool);
    std::filesystem::resize_file(path, 0);
    EXPECT_THROW(reopen(), engines::NoPool);
}

} // namespace
