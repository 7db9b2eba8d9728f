// SPDX-License-Identifier: BSD-3-Clause
//
// XFS_IOC_EXCHANGE_RANGE where there is none, of files that tell pages from holes as those of tmpfs do. It has the
// effect of the call without power cuts, and does not model these. A page that changes places with a hole leaves zeros.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "fams_exchange.hpp"

// 0 or the error, as the call on `file2` would have it. No system call of it is one that an engine makes.
inline int exchangeRanges(int file2, const engines::ExchangeRange &all) {
    constexpr size_t page = 4096;
    auto map = [&](int file, uint64_t offset) {
        return mmap(nullptr, all.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
    };
    void *one = map(all.file1, all.file1_offset), *other = map(file2, all.file2_offset);
    int error = one == MAP_FAILED || other == MAP_FAILED ? errno : 0;
    for (uint64_t at = 0; error == 0 && at < all.bytes; at += page) {
        const auto offset = static_cast<off_t>(all.file1_offset + at);
        char *from = static_cast<char *>(one) + at;
        if (!(all.flags & engines::ExchangeRange::WrittenOnly) || lseek(all.file1, offset, SEEK_DATA) == offset)
            std::swap_ranges(from, from + page, static_cast<char *>(other) + at);
    }
    if (one != MAP_FAILED)
        munmap(one, all.bytes);
    if (other != MAP_FAILED)
        munmap(other, all.bytes);
    return error;
}
