// SPDX-License-Identifier: BSD-3-Clause
//
// Environment variables that engines read.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <string>

#include "engine.hpp"

namespace engines {

// Reads a number of at least 1 from a variable; returns `otherwise` if the variable is not set.
inline uint64_t environmentNumber(const char *name, const char *what, uint64_t otherwise) {
    const char *text = getenv(name);
    if (!text)
        return otherwise;
    char *end = nullptr;
    uint64_t value = strtoull(text, &end, 10);
    if (!*text || *end || value == 0)
        fail(EINVAL, std::string(name) + " must be " + what + ", at least 1");
    return value;
}

inline bool environmentSays(const char *name, const char *word) {
    const char *text = getenv(name);
    return text && std::string(text) == word;
}

} // namespace engines
