// SPDX-License-Identifier: BSD-3-Clause
//
// The results of recovery after every power cut in a story of steps.h: for each mark the digests of all contents that a
// cut between it and the next one can leave. `testbed crash` finds the same in a guest
// (tests/guest/crash/test_crash_library.py).
//
//     explore_steps DIRECTORY PROTOCOL STORY [BUG]
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime_under_test.hpp"
#include "steps.h"

const char *seeded_bug = "";
extern "C" char snapshot_single_threaded;
char snapshot_single_threaded = 1;

static constexpr size_t ExhaustiveLines = 10, Samples = 2000;

static Recorder trace;
static Mapping mapping;
static Image start;
static std::vector<size_t> marks; // positions among the events

static void mark(uint32_t, const void *file) {
    if (!recorder) {
        struct log_view log{}, backing{};
        snapshot_test_views(file, &log, &backing);
        mapping = {log.base, backing.base, log.bytes, backing.bytes};
        start = imageOf(log.base, log.bytes, backing.base, backing.bytes);
        recorder = &trace;
    }
    marks.push_back(trace.events.size());
}

static std::string recovered(Image &image, const struct protocol *protocol) {
    struct recovery result{};
    int status = recover({image.logBytes(), image.logSize()}, image.dataBytes(), image.dataSize(), protocol, &result);
    char text[32];
    if (status < 0)
        snprintf(text, sizeof(text), "refused %d", -status);
    else
        snprintf(text, sizeof(text), "%016" PRIx64, steps_digest(image.dataBytes()));
    return text;
}

int main(int argc, char **argv) {
    if (argc < 4)
        return 2;
    unsigned flags = 0;
    for (const Protocol &protocol : Protocols)
        if (strcmp(protocol.name, argv[2]) == 0)
            flags = protocol.flag;
    std::filesystem::create_directories(argv[1]);
    std::string path = std::string(argv[1]) + "/data";
    int status = steps_make(path.c_str(), flags);
    if (argc > 4) // not of the file's creation, as in the guest
        seeded_bug = argv[4];
    if (status == 0)
        status = steps_run(path.c_str(), flags, argv[3], mark);
    recorder = nullptr;
    std::filesystem::remove_all(argv[1]);
    if (status < 0)
        return printf("%s\n", strerrorname_np(-status)), 2;

    std::map<size_t, std::set<std::string>> found;
    const struct protocol *protocol = protocol_by_name(argv[2]);
    exploreCrashes(start, mapping, trace.events, ExhaustiveLines, Samples, 1, [&](const Crash &crash, Image &image) {
        std::string content = recovered(image, protocol);
        for (size_t i = 0; i + 1 < marks.size(); i++) // at a mark the power may be cut before it and after it
            if (marks[i] <= crash.position && crash.position <= marks[i + 1])
                found[i].insert(content);
    });
    for (const auto &[number, contents] : found)
        for (const std::string &content : contents)
            printf("%zu %s\n", number, content.c_str());
    return 0;
}
