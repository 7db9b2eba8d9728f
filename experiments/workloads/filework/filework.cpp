// SPDX-License-Identifier: BSD-3-Clause
//
// The work of mail servers and web proxies on files: the flows Varmail and Webproxy, after Filebench's public
// descriptions of them. A loop has its own random numbers, so its calls do not depend on the thread.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "clock.hpp"
#include "crew.hpp"
#include "file_set.hpp"
#include "flow.hpp"
#include "folder.hpp"
#include "options.hpp"
#include "report.hpp"
#include "testbed_roi.h"

namespace workloads {

struct FileworkOptions {
    std::string flow = "varmail", folder;
    uint64_t threads = 1, files = 1000, mean_bytes = 0, append_bytes = 16384, read_bytes = 1 << 20;
    uint64_t aged = 0, loops = 1000, width = 0, seed = 1;
    bool help = false;

    void setFlow(const std::string &text) {
        if (text != "varmail" && text != "webproxy")
            throw std::invalid_argument("--flow must be varmail or webproxy, not '" + text + "'");
        flow = text;
    }

    void check() {
        if (mean_bytes == 0) // as HDPM was measured
            mean_bytes = flow == "varmail" ? 32768 : 65536;
        if (folder.empty())
            throw std::invalid_argument("--folder is missing: give a path on the file system under test");
        if (files < 10 * threads)
            throw std::invalid_argument("--files must be at least " + std::to_string(10 * threads) +
                                        ", ten for each thread");
    }

    std::vector<Flag> flags() {
        return {
            {"flow", "NAME", "varmail or webproxy (default varmail)", [this](const char *text) { setFlow(text); }},
            {"folder", "PATH", "of the files, on the file system under test; none of them may be there",
             [this](const char *text) { folder = text; }},
            {"threads", "N", "that make the loops (default 1)",
             [this](const char *text) { threads = number("threads", text, 1, 64); }},
            {"files", "N", "that there can be; 8 of 10 are there at the begin (default 1000)",
             [this](const char *text) { files = number("files", text, 10, 99'999'999); }},
            {"mean", "BYTES", "of those (default 32768, of webproxy 65536)",
             [this](const char *text) { mean_bytes = number("mean", text, 1, Many); }},
            {"append", "BYTES", "an append is of fewer, each number as often (default 16384)",
             [this](const char *text) { append_bytes = number("append", text, 1, 1 << 24); }},
            {"read", "BYTES", "of one call of read (default 1048576)",
             [this](const char *text) { read_bytes = number("read", text, 1, 1 << 24); }},
            {"aged", "N", "loops before the measured ones, by one thread (default 0)",
             [this](const char *text) { aged = number("aged", text, 0, Many); }},
            {"loops", "N", "that are measured, dealt to all threads (default 1000)",
             [this](const char *text) { loops = number("loops", text, 1, Many); }},
            {"width", "N", "files in a folder; 0: all of them (default 0)",
             [this](const char *text) { width = number("width", text, 0, Many); }},
            {"seed", "S", "of sizes and of which file (default 1)",
             [this](const char *text) { seed = number("seed", text, 0, UINT64_MAX); }},
            {"help", nullptr, "this text", [this](const char *) { help = true; }},
        };
    }
};

class Filework {
  public:
    explicit Filework(const FileworkOptions &options)
        : options(options), folder(options.folder, options.files, options.width, options.append_bytes),
          set(options.files) {
        Flow flow = options.flow == "varmail" ? Flow::Varmail : Flow::Webproxy;
        for (uint64_t thread = 0; thread < options.threads; thread++)
            hands.emplace_back(flow, folder, set, options.seed, options.append_bytes, options.read_bytes);
    }

    void run() {
        preallocate();
        for (uint64_t loop = 0; loop < options.aged; loop++)
            hands[0].loop(loop);
        hands[0].counts = {};
        folder.synchroniseAll(); // all earlier work is on the device, whatever the file system
        std::atomic<uint64_t> next = options.aged;
        uint64_t end = options.aged + options.loops;
        Crew crew(options.threads, [&](uint64_t thread) {
            for (uint64_t loop; (loop = next++) < end;)
                hands[thread].loop(loop);
        });
        testbed_roi_begin(1);
        uint64_t begin_ns = nowNs();
        crew.run();
        roi_ns = nowNs() - begin_ns;
        testbed_roi_end();
    }

    // Throws if the file system has lost anything.
    void verify() const {
        std::vector<char> buffer(options.read_bytes);
        folder.verify(set, buffer);
    }

    void print() const {
        FlowCounts all;
        for (const FlowThread<Folder> &each : hands)
            all.add(each.counts);
        uint64_t operations = 0;
        for (uint64_t calls : all.calls)
            operations += calls;
        Report row;
        row.add("program", "filework").add("flow", options.flow).add("threads", options.threads);
        row.add("files", options.files).add("mean_bytes", options.mean_bytes);
        row.add("append_bytes", options.append_bytes).add("width", options.width).add("seed", options.seed);
        row.add("aged", options.aged).add("loops", options.loops).add("operations", operations).add("roi_ns", roi_ns);
        row.add("written_bytes", all.written_bytes).add("read_bytes", all.read_bytes);
        for (size_t call = 0; call < Calls; call++)
            row.add(std::string(CallNames[call]) + "_calls", all.calls[call])
                .add(std::string(CallNames[call]) + "_ns", all.ns[call]);
        row.addHex("checksum", checksum()).addBool("verified", true);
        row.print();
    }

  private:
    void preallocate() {
        Random random(options.seed);
        for (uint64_t file = 0; file < set.size(); file++) {
            uint64_t bytes = gammaBytes(random, static_cast<double>(options.mean_bytes));
            if (!FileSet::isPreallocated(file))
                continue;
            set[file].tag = file;
            int opened = folder.create(file);
            folder.append(opened, file, set[file], bytes);
            folder.close(opened, file);
        }
    }

    // The existing files: which, how long, and their content.
    uint64_t checksum() const {
        uint64_t sum = 0;
        for (uint64_t file = 0; file < set.size(); file++)
            if (set.isPresent(file))
                sum += splitmix64(splitmix64(file) ^ splitmix64(set[file].bytes) ^ set[file].tag);
        return sum;
    }

    FileworkOptions options;
    Folder folder;
    FileSet set;
    std::vector<FlowThread<Folder>> hands;
    uint64_t roi_ns = 0;
};

static std::string fileworkUsage(const std::vector<Flag> &flags) {
    std::string text = usage("filework", flags);
    return "usage: filework --folder PATH [options]" + text.substr(text.find('\n'));
}

} // namespace workloads

int main(int argc, char **argv) {
    workloads::FileworkOptions options;
    std::vector<workloads::Flag> flags = options.flags();
    try {
        workloads::parse(argc, argv, flags);
        if (options.help)
            return fputs(workloads::fileworkUsage(flags).c_str(), stdout) < 0;
        options.check();
        workloads::Filework filework(options);
        filework.run();
        filework.verify();
        filework.print();
        return 0;
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "filework: %s\n%s", error.what(), workloads::fileworkUsage(flags).c_str());
    } catch (const std::exception &error) {
        fprintf(stderr, "%s\n", error.what());
    }
    return 2;
}
