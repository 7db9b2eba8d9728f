// SPDX-License-Identifier: BSD-3-Clause
//
// Recovery on damaged logs. The input damages one line of the log that two commits left behind, or it
// is repeated to be the whole log.
// Recovery must not crash, and must end with an error or with one of the states that were once committed; a log of
// arbitrary bytes must not be believed at all.
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

static Committed makeCommitted() {
    auto directory = std::filesystem::temp_directory_path() / ("snapshot-fuzz-" + std::to_string(getpid()));
    std::filesystem::create_directories(directory);
    TrackedFile file(directory / "data", Bytes);
    Committed committed;
    for (uint64_t commit = 1; commit <= 2; commit++) {
        committed.before = committed.after;
        for (uint64_t i = 0; i < 15; i++)
            trackedStore(file.working() + 64 * i * commit, commit * 1000 + i);
        file.commit();
        committed.image = file.image();
        committed.after = dataOf(committed.image);
    }
    file.close();
    std::filesystem::remove_all(directory);
    return committed;
}

// The input overwrites a part of one line, near the commit records or the blocks of either parity: place (3), bytes.
// Damage to several lines at once cannot always be told from a power cut, see docs/snapshot.md.
static void damage(Image &image, const uint8_t *input, size_t size) {
    static constexpr size_t places[] = {0, 4096, 8192, 8192 + CHUNK_BYTES};
    size_t place = places[input[0] % 4] + (static_cast<size_t>(input[1]) << 8 | input[2]) % 2048;
    size_t line_rest = 64 - place % 64;
    memcpy(image.logBytes() + place, input + 3, std::min(size - 3, line_rest));
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    static const Committed committed = makeCommitted();
    if (size < 4)
        return 0;
    Image image = committed.image;
    bool arbitrary = input[0] == 0xff;
    if (arbitrary) {
        memset(image.logBytes(), 0, image.logSize());
        for (size_t i = 0; i < image.logSize(); i += 64)
            memcpy(image.logBytes() + i, input, std::min<size_t>(size, 64));
    } else {
        damage(image, input, size);
    }
    struct recovery result{};
    struct log_view log = {image.logBytes(), image.logSize()};
    if (log_file_check(log) < 0 || recover(log, image.dataBytes(), Bytes, &result) < 0)
        return 0;
    std::vector<uint8_t> found = dataOf(image);
    if (arbitrary || (found != committed.before && found != committed.after))
        abort();
    return 0;
}
