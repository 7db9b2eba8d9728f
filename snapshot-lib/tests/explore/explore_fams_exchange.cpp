// SPDX-License-Identifier: BSD-3-Clause
//
// Crash states of the engine fams-exchange, at its system calls, which the linker puts in between (--wrap). The model
// is the promise of the manual page of XFS_IOC_EXCHANGE_RANGE, on which the engine relies; no file system that
// exchanges ranges is at hand:
//
//  - An exchange is there whole or not at all after a crash. With DSYNC it is there when the call returns. Without it
//    the file may have its content after any earlier exchange.
//  - The size and the name of the pool may be missing until the file and the folder are synchronised.
//  - The staging file has no name, so a crash leaves nothing of it.
//
// Whether XFS keeps the promise, it does not say: docs/results/crash.md does.
//
// Bugs: no-dsync, no-punch and no-written-only: the call or the flag is left out; late-write: pages are written to the
// staging file after their exchange; no-write-back: an exchange makes the blocks durable and not their content;
// no-file-sync, no-folder-sync: fsync() of these does nothing.
#include <cstdio>
#include <random>
#include <vector>

#include "exchange_ranges.hpp"
#include "fams_exchange.hpp"
#include "store_explorer.hpp"

using engines::ExchangeRange;

struct Write {
    int file;
    std::string bytes;
    off_t offset;
};

static struct Explorer : StoreExplorer<engines::FamsExchange> {
    std::vector<std::string> contents; // that the pool may have, the first is durable; none: not exploring
    bool is_size_durable = false, is_name_durable = false;
    std::vector<Write> late;
    std::mt19937_64 random{1};

    void begin() override { contents = {readFile(pool)}; }
    void end() override {
        contents.clear();
        late.clear();
    }

    bool isExploring() const { return !contents.empty(); }

    void forEachState() override {
        for (const std::string &bytes : contents) {
            writeFile(crashed, bytes);
            judge();
        }
        if (!is_size_durable) {
            writeFile(crashed, "");
            judge();
        }
        if (!is_name_durable) {
            std::filesystem::remove(crashed);
            judge();
        }
    }

    void exchanged(bool is_durable) {
        std::string bytes = readFile(pool), torn = bytes;
        if (hasBug("no-write-back"))
            for (size_t at = 0; at < torn.size(); at += PageBytes)
                if (torn.compare(at, PageBytes, contents.back(), at, PageBytes) != 0 && random() % 2)
                    torn.replace(at, PageBytes, PageBytes, '\0');
        if (is_durable)
            contents.clear();
        contents.push_back(bytes);
        if (torn != bytes)
            contents.push_back(torn);
    }

    void synchronised(const std::string &path) {
        is_size_durable = is_size_durable || (path == pool && !hasBug("no-file-sync"));
        is_name_durable = is_name_durable || (pool.starts_with(path + "/") && !hasBug("no-folder-sync"));
    }
} explorer;

extern "C" {
ssize_t __real_pwrite(int fd, const void *bytes, size_t count, off_t offset);
int __real_fallocate(int fd, int mode, off_t offset, off_t length);
int __real_fsync(int fd);

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t count, off_t offset) {
    if (!explorer.isExploring())
        return __real_pwrite(fd, bytes, count, offset);
    explorer.point();
    if (!explorer.hasBug("late-write"))
        return __real_pwrite(fd, bytes, count, offset);
    explorer.late.push_back({fd, std::string(static_cast<const char *>(bytes), count), offset});
    return static_cast<ssize_t>(count);
}

// An exchange is the one that the engine uses.
int __wrap_ioctl(int fd, unsigned long, ExchangeRange *asked) {
    ExchangeRange all = *asked;
    all.flags &= ~(explorer.hasBug("no-dsync") ? ExchangeRange::Durable : 0);
    all.flags &= ~(explorer.hasBug("no-written-only") ? ExchangeRange::WrittenOnly : 0);
    if (explorer.isExploring())
        explorer.point();
    int error = exchangeRanges(fd, all);
    if (explorer.isExploring() && error == 0)
        explorer.exchanged(all.flags & ExchangeRange::Durable);
    for (const Write &write : explorer.late)
        __real_pwrite(write.file, write.bytes.data(), write.bytes.size(), write.offset);
    explorer.late.clear();
    errno = error;
    return error ? -1 : 0;
}

int __wrap_fallocate(int fd, int mode, off_t offset, off_t length) {
    if (explorer.isExploring())
        explorer.point();
    return explorer.hasBug("no-punch") ? 0 : __real_fallocate(fd, mode, offset, length);
}

int __wrap_fsync(int fd) {
    explorer.synchronised(pathOf(fd));
    return __real_fsync(fd);
}
}

int main(int argc, char **argv) { return explorer.run("explore-fams-exchange", argc, argv); }
