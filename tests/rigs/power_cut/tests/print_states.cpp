// SPDX-License-Identifier: BSD-3-Clause
//
// Prints each content that two lines of zeros may have after a power cut behind the events on standard input, once, as
// hexadecimal digits. An event is a line of text; cores count from 1, addresses and bytes are hexadecimal:
//
//     store CORE ADDRESS BYTES        also ntstore
//     flush CORE ADDRESS
//     fence CORE
//
//     print_states SEEDS
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>
#include <sstream>
#include <string>

#include "media.hpp"

static MediaEvent parse(const std::string &text) {
    std::istringstream words(text);
    std::string kind, bytes;
    unsigned core = 0;
    size_t address = 0;
    words >> kind >> core >> std::hex >> address >> bytes;
    MediaEvent event{.kind = kind == "store"     ? MediaEvent::Store
                             : kind == "ntstore" ? MediaEvent::NonTemporalStore
                             : kind == "flush"   ? MediaEvent::Flush
                                                 : MediaEvent::Fence,
                     .core = core,
                     .line = address / LineBytes * LineBytes};
    for (size_t i = 0; i < bytes.size() / 2; i++) {
        event.content[address % LineBytes + i] = static_cast<uint8_t>(std::stoul(bytes.substr(2 * i, 2), nullptr, 16));
        event.bytes |= 1ull << (address % LineBytes + i);
    }
    return event;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    std::vector<MediaEvent> events;
    for (std::string text; std::getline(std::cin, text);)
        events.push_back(parse(text));
    std::set<std::string> found;
    for (uint64_t seed = 0; seed < strtoull(argv[1], nullptr, 10); seed++) {
        CrashStates states(Medium(2 * LineBytes), seed);
        for (const MediaEvent &event : events)
            states.follow(event);
        states.forEach({.exhaustive = 4096}, [&](const Medium &medium) {
            std::string text;
            for (uint8_t byte : medium) {
                char digits[3];
                snprintf(digits, sizeof(digits), "%02x", byte);
                text += digits;
            }
            found.insert(text);
        });
    }
    for (const std::string &text : found)
        puts(text.c_str());
    return 0;
}
