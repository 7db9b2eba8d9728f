// SPDX-License-Identifier: BSD-3-Clause
//
// Recovery on damaged logs, of every protocol. The first byte of the input chooses the protocol, the second the damaged
// part:
//  - one line of the log that four commits left behind: recovery must end with an error or with one of the last two
//    states that were committed (the damage may make the last commit look unfinished);
//  - many lines of log and file: recovery must not crash;
//  - everything: the log is the input repeated, and must not be believed.
// SNAPSHOT_FUZZ_PROTOCOL in the environment fixes the protocol.
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "runtime_under_test.hpp"

static constexpr size_t Bytes = 4096;

struct Committed {
    Image image;
    std::vector<uint8_t> before, after;
};

static std::vector<uint8_t> dataOf(Image &image) {
    return std::vector<uint8_t>(image.dataBytes(), image.dataBytes() + Bytes);
}

static std::vector<uint8_t> workingOf(const TrackedFile &file) {
    return std::vector<uint8_t>(file.working(), file.working() + Bytes);
}

// Lines that each commit changes, and lines that only one does.
static Committed makeCommitted(const Protocol &protocol) {
    auto directory = std::filesystem::temp_directory_path() / ("snapshot-fuzz-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory);
    TrackedFile file(directory / "data", Bytes, protocol.flag);
    Committed committed;
    for (uint64_t commit = 1; commit <= 4; commit++) {
        committed.before = workingOf(file);
        for (uint64_t i = 0; i < 15; i++)
            trackedStore(file.working() + 64 * i * commit, commit * 1000 + i);
        file.commit();
    }
    committed.after = workingOf(file);
    committed.image = file.image();
    file.close();
    std::filesystem::remove_all(directory);
    return committed;
}

static std::vector<Committed> makeAllCommitted() {
    std::vector<Committed> committed;
    for (const Protocol &protocol : Protocols)
        committed.push_back(makeCommitted(protocol));
    return committed;
}

// A part of a line, near the records or the blocks of one of the sets: place (3 bytes), content.
static void damageLogLine(Image &image, const uint8_t *input, size_t size) {
    static constexpr size_t chunk = CHUNK_BYTES;
    static constexpr size_t places[] = {0, 4096, 8192, 8192 + chunk, 8192 + 2 * chunk, 8192 + 3 * chunk};
    size_t place = places[input[0] % std::size(places)] + (static_cast<size_t>(input[1]) << 8 | input[2]) % 2048;
    memcpy(image.logBytes() + place, input + 3, std::min(size - 3, 64 - place % 64));
}

// Twelve bytes at a time: log or file, place, content.
static void damageAnywhere(Image &image, const uint8_t *input, size_t size) {
    for (; size >= 12; input += 12, size -= 12) {
        size_t place = (static_cast<size_t>(input[1]) << 8 | input[2]) * 2;
        bool in_log = input[0] % 4 > 0;
        uint8_t *bytes = in_log ? image.logBytes() : image.dataBytes();
        memcpy(bytes + place % ((in_log ? image.logSize() : Bytes) - 9), input + 3, 9);
    }
}

static void repeat(Image &image, const uint8_t *input, size_t size) {
    for (size_t i = 0; i < image.logSize(); i += 64) {
        memset(image.logBytes() + i, 0, 64);
        memcpy(image.logBytes() + i, input, std::min<size_t>(size, 64));
    }
}

static size_t protocolIndex(uint8_t input) {
    const char *fixed = getenv("SNAPSHOT_FUZZ_PROTOCOL");
    for (size_t i = 0; fixed && i < std::size(Protocols); i++)
        if (strcmp(Protocols[i].name, fixed) == 0)
            return i;
    return input % std::size(Protocols);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    static const std::vector<Committed> committed = makeAllCommitted();
    if (size < 6)
        return 0;
    const Committed &chosen = committed[protocolIndex(input[0])];
    Image image = chosen.image;
    unsigned kind = input[1] % 4;
    (kind == 0 ? repeat : kind == 1 ? damageAnywhere : damageLogLine)(image, input + 2, size - 2);
    struct recovery result{};
    struct log_view log = {image.logBytes(), image.logSize()};
    if (log_file_check(log) < 0 || recover(log, image.dataBytes(), Bytes, &protocol_line, &result) < 0)
        return 0;
    std::vector<uint8_t> found = dataOf(image);
    bool one_of_both = found == chosen.before || found == chosen.after;
    if (kind == 0 || (kind > 1 && !one_of_both))
        abort();
    return 0;
}
