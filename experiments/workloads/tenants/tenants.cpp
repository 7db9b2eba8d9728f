// SPDX-License-Identifier: BSD-3-Clause
//
// Two tenants of one device: a thread that reads single lines anywhere in its part of a file, each timed by itself, and
// one that scans another part from end to end, over and over. The program measures their effect on each other in the
// device's cache.
//
// No line of the points is read twice, so each read goes to the device. Other lines of each page were read before, in a
// region of interest of their own, so that the device's cache has the pages if its policy keeps them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "clock.hpp"
#include "crew.hpp"
#include "latency.hpp"
#include "options.hpp"
#include "random.hpp"
#include "report.hpp"
#include "testbed_roi.h"

namespace workloads {

constexpr uint64_t LineBytes = 64, PageBytes = 4096, LinesOfPage = PageBytes / LineBytes;
constexpr uint64_t EarlyLines = 8; // the last lines of each page, which are read before the measurement

struct TenantsOptions : Options {
    std::string tenants = "both";
    uint64_t points_bytes = 1536 << 10, scan_bytes = 8 << 20, reads = 20000, think = 500;

    void setTenants(const std::string &text) {
        if (text != "both" && text != "points" && text != "scan")
            throw std::invalid_argument("--tenants must be points, scan or both, not '" + text + "'");
        tenants = text;
    }

    void check() const {
        if (file.empty())
            throw std::invalid_argument("--file is missing: give a path on the file system under test");
        if (points_bytes % PageBytes || scan_bytes % PageBytes)
            throw std::invalid_argument("--points and --scan are whole pages of 4096 bytes");
        if (uint64_t most = points_bytes / PageBytes * (LinesOfPage - EarlyLines); reads > most)
            throw std::invalid_argument("--reads must not be more than " + std::to_string(most) +
                                        ", the lines of --points but eight of each page");
    }

    std::vector<Flag> flags() {
        std::vector<Flag> flags = {
            {"tenants", "WHO", "points, scan or both (default both)", [this](const char *text) { setTenants(text); }},
            {"points", "BYTES", "in which single lines are read (default 1572864)",
             [this](const char *text) { points_bytes = number("points", text, PageBytes, Many); }},
            {"scan", "BYTES", "that are scanned (default 8388608)",
             [this](const char *text) { scan_bytes = number("scan", text, PageBytes, Many); }},
            {"reads", "N", "of single lines; alone, the scan goes once over its part (default 20000)",
             [this](const char *text) { reads = number("reads", text, 1, Many); }},
            {"think", "N", "steps of arithmetic between two reads, of some 2 ns each (default 500)",
             [this](const char *text) { think = number("think", text, 0, Many); }},
        };
        for (Flag &flag : commonFlags(*this))
            if (std::string(flag.name) == "file" || std::string(flag.name) == "seed" ||
                std::string(flag.name) == "help")
                flags.push_back(flag);
        return flags;
    }
};

[[noreturn]] static void failed(const std::string &what) {
    throw std::system_error(errno, std::generic_category(), what);
}

// The file: the points, and behind them the part that is scanned.
class TenantsFile {
  public:
    explicit TenantsFile(const TenantsOptions &options) : bytes(options.points_bytes + options.scan_bytes) {
        int file = open(options.file.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (file < 0)
            failed("cannot open " + options.file);
        int error = posix_fallocate(file, 0, static_cast<off_t>(bytes));
        memory = error ? MAP_FAILED : mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        errno = error ? error : errno;
        close(file);
        if (memory == MAP_FAILED)
            failed("cannot map " + options.file);
        uint64_t *words = static_cast<uint64_t *>(memory);
        std::iota(words, words + bytes / sizeof(*words), options.seed);
        if (msync(memory, bytes, MS_SYNC) < 0)
            failed("msync");
    }
    ~TenantsFile() { munmap(memory, bytes); }
    TenantsFile(const TenantsFile &) = delete;
    TenantsFile &operator=(const TenantsFile &) = delete;

    // Returns the first word of a line.
    uint64_t lineAt(uint64_t offset) const {
        return __atomic_load_n(reinterpret_cast<uint64_t *>(static_cast<char *>(memory) + offset), __ATOMIC_RELAXED);
    }

  private:
    uint64_t bytes;
    void *memory;
};

class Tenants {
  public:
    explicit Tenants(const TenantsOptions &options) : options(options), file(options) {
        uint64_t pages = options.points_bytes / PageBytes;
        for (uint64_t page = 0; page < pages; page++)
            for (uint64_t line = 0; line < LinesOfPage - EarlyLines; line++)
                order.push_back(page * PageBytes + line * LineBytes);
        Random random(options.seed);
        for (uint64_t i = 0; i < options.reads; i++)
            std::swap(order[i], order[i + random.below(order.size() - i)]);
    }

    void run() {
        bool points = options.tenants != "scan", scan = options.tenants != "points";
        Crew crew(points && scan ? 2 : 1, [&](uint64_t thread) {
            if (points && thread == 0)
                readPoints();
            else
                scanUntilDone(!points);
        });
        testbed_roi_begin(1);
        latencies.calibrate(nowNs);
        if (points)
            warmUp();
        testbed_roi_end();
        testbed_roi_begin(2);
        uint64_t begin_ns = nowNs();
        crew.run();
        roi_ns = nowNs() - begin_ns;
        testbed_roi_end();
    }

    void print() const {
        Report row;
        row.add("program", "tenants").add("tenants", options.tenants).add("seed", options.seed);
        row.add("points_bytes", options.points_bytes).add("scan_bytes", options.scan_bytes);
        Report(row).add("roi_ns", roi_ns).add("scanned_bytes", scanned_bytes).add("checksum", sum.load()).print();
        latencies.print(row, {"point"});
    }

  private:
    void warmUp() {
        for (uint64_t line = 1; line <= EarlyLines; line++)
            for (uint64_t end = PageBytes; end <= options.points_bytes; end += PageBytes)
                sum += file.lineAt(end - line * LineBytes);
    }

    void readPoints() {
        uint64_t seen = 0;
        for (uint64_t i = 0; i < options.reads; i++) {
            uint64_t begin_ns = nowNs();
            seen += file.lineAt(order[i]);
            latencies.record(0, nowNs() - begin_ns);
            for (uint64_t step = 0; step < options.think; step++)
                seen = splitmix64(seen);
        }
        sum += seen;
        done = true;
    }

    void scanUntilDone(bool once) {
        uint64_t seen = 0, scanned = 0;
        for (uint64_t at = 0; once ? scanned < options.scan_bytes : !done; at = (at + LineBytes) % options.scan_bytes) {
            seen += file.lineAt(options.points_bytes + at);
            scanned += LineBytes;
        }
        scanned_bytes = scanned;
        sum += seen;
    }

    TenantsOptions options;
    TenantsFile file;
    std::vector<uint64_t> order;
    Latencies<1> latencies;
    std::atomic<uint64_t> sum = 0; // keeps the reads alive
    alignas(64) std::atomic<bool> done = false;
    uint64_t scanned_bytes = 0, roi_ns = 0;
};

static std::string tenantsUsage(const std::vector<Flag> &flags) {
    std::string text = usage("tenants", flags);
    return "usage: tenants --file PATH [options]" + text.substr(text.find('\n'));
}

} // namespace workloads

int main(int argc, char **argv) {
    workloads::TenantsOptions options;
    std::vector<workloads::Flag> flags = options.flags();
    try {
        workloads::parse(argc, argv, flags);
        if (options.help)
            return fputs(workloads::tenantsUsage(flags).c_str(), stdout) < 0;
        options.check();
        workloads::Tenants tenants(options);
        tenants.run();
        tenants.print();
        return 0;
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "tenants: %s\n%s", error.what(), workloads::tenantsUsage(flags).c_str());
    } catch (const std::exception &error) {
        fprintf(stderr, "tenants: %s\n", error.what());
    }
    return 2;
}
