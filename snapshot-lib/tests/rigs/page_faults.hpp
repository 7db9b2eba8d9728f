// SPDX-License-Identifier: BSD-3-Clause
//
// How many page faults this thread takes for some work. In one file of a program: it turns an option of a sanitizer
// off.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <functional>

// To find uses of frames that have returned, AddressSanitizer gives each call another frame, in turn over a megabyte.
// That is some 22 page faults for a commit of 32 pages, where the library has none. The other tests look for such uses.
extern "C" const char *__asan_default_options() { return "detect_stack_use_after_return=0"; }

static inline uint64_t faults(const std::function<void()> &work) {
    struct rusage before{}, after{};
    getrusage(RUSAGE_THREAD, &before);
    work();
    getrusage(RUSAGE_THREAD, &after);
    return static_cast<uint64_t>(after.ru_minflt - before.ru_minflt);
}
