// SPDX-License-Identifier: BSD-3-Clause
//
// The time of a read of a page once parts of it have been overwritten so many times; and the time of reads and writes
// of parts in any order. Each call is timed by itself. The bytes read are compared at the end, by numbers that
// determine the written bytes, so that no copy of these is in the caches meanwhile.
#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "options.hpp"
#include "overwritten.hpp"

namespace workloads {

struct OverwritesOptions : OverwritesSettings {
    bool help = false;

    void setTimes(const std::string &text) {
        times.clear();
        for (size_t at = 0; at <= text.size();) {
            size_t comma = std::min(text.find(',', at), text.size());
            times.push_back(number("times", text.substr(at, comma - at).c_str(), 0, 1'000'000));
            at = comma + 1;
        }
    }

    std::vector<Flag> flags() {
        return {
            {"file", "PATH", "on the file system under test; one for each of --times, with that behind its name",
             [this](const char *text) { file = text; }},
            {"pages", "N", "of 4096 bytes, that are written whole before (default 64)",
             [this](const char *text) { pages = number("pages", text, 1, 10'000'000); }},
            {"bytes", "N", "of one overwrite, at any place of its page (default 256)",
             [this](const char *text) { bytes = number("bytes", text, 1, WholeBytes); }},
            {"times", "LIST", "how often each page is overwritten (default 0,1,2,4,8,16,32,64)",
             [this](const char *text) { setTimes(text); }},
            {"reads", "N", "of each page after that (default 2)",
             [this](const char *text) { reads = number("reads", text, 1, 1000); }},
            {"mixed", "N", "in their place so many calls on any pages, as many overwrites as reads (default 0)",
             [this](const char *text) { mixed = number("mixed", text, 0, Many); }},
            {"seed", "S", "of places and order (default 1)",
             [this](const char *text) { seed = number("seed", text, 0, UINT64_MAX); }},
            {"help", nullptr, "this text", [this](const char *) { help = true; }},
        };
    }
};

static std::string overwritesUsage(const std::vector<Flag> &flags) {
    std::string text = usage("overwrites", flags);
    return "usage: overwrites --file PATH [options]" + text.substr(text.find('\n'));
}

static void runAll(const OverwritesOptions &options) {
    for (uint64_t times : options.mixed ? std::vector<uint64_t>{0} : options.times) {
        OverwrittenFile file(options, times);
        file.run();
        file.verify();
        file.print();
    }
}

} // namespace workloads

int main(int argc, char **argv) {
    workloads::OverwritesOptions options;
    std::vector<workloads::Flag> flags = options.flags();
    try {
        workloads::parse(argc, argv, flags);
        if (options.help)
            return fputs(workloads::overwritesUsage(flags).c_str(), stdout) < 0;
        if (options.file.empty())
            throw std::invalid_argument("--file is missing: give a path on the file system under test");
        workloads::runAll(options);
        return 0;
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "overwrites: %s\n%s", error.what(), workloads::overwritesUsage(flags).c_str());
    } catch (const std::exception &error) {
        fprintf(stderr, "overwrites: %s\n", error.what());
    }
    return 2;
}
