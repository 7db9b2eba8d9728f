// SPDX-License-Identifier: BSD-3-Clause
//
// Values that identify themselves: their key, the write that made them, and whether all bytes are of that write.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "random.hpp"

namespace workloads {

struct Written {
    uint64_t key_number, version; // version 0: loaded
};

class Value {
  public:
    explicit Value(uint64_t bytes) : words(bytes / sizeof(uint64_t)) {}

    std::string_view fill(const Written &written) {
        words[0] = written.key_number;
        words[1] = written.version;
        for (uint64_t i = 2; i < words.size(); i++)
            words[i] = wordOf(written, i);
        return {reinterpret_cast<const char *>(words.data()), words.size() * sizeof(uint64_t)};
    }

    // The identity that the begin of a value claims.
    static Written claimOf(std::string_view bytes) {
        Written written{};
        memcpy(&written, bytes.data(), sizeof(written));
        return written;
    }

    // Nothing: torn.
    static std::optional<Written> whole(std::string_view bytes) {
        Written written = claimOf(bytes);
        for (uint64_t i = 2; i < bytes.size() / sizeof(uint64_t); i++) {
            uint64_t word;
            memcpy(&word, bytes.data() + i * sizeof(word), sizeof(word));
            if (word != wordOf(written, i))
                return std::nullopt;
        }
        return written;
    }

  private:
    static uint64_t wordOf(const Written &written, uint64_t place) {
        return splitmix64(written.key_number << 40 ^ written.version << 12 ^ place);
    }

    std::vector<uint64_t> words;
};

} // namespace workloads
