// SPDX-License-Identifier: BSD-3-Clause
//
// A store in memory, which may be the image after a power cut.
#pragma once

#include <cstring>
#include <vector>

#include "image.hpp"

#define _Static_assert static_assert
extern "C" {
#include "fams.h"
}

constexpr uint64_t DataPages = 24, PageBytes = FAMS_PAGE_BYTES;

// A set has space for three pages, or for ten, which need a list of more than one line.
constexpr uint64_t Capacity = 3, Journal = 10 * PageBytes;
constexpr uint64_t WideCapacity = 10, WideJournal = 25 * PageBytes;

using Content = std::vector<uint8_t>; // of all data

// An image's log is the store; the image's data are unused.
inline fams_space spaceOf(Image &image) { return {image.logBytes(), image.logSize()}; }

inline Mapping mappingOf(Image &image) { return {image.logBytes(), nullptr, image.logSize(), 0}; }

inline Image blankImage() { return {WideJournal + DataPages * PageBytes, size_t{0}}; }

inline Content contentOf(const struct fams &fams) {
    const uint8_t *first = static_cast<const uint8_t *>(fams_page(&fams, 0));
    return {first, first + fams.data_pages * PageBytes};
}

// The pages of a commit, and the byte that fills each of them.
struct Update {
    std::vector<uint64_t> numbers;
    std::vector<uint8_t> fills;

    Content on(Content content) const {
        for (size_t i = 0; i < numbers.size(); i++)
            memset(content.data() + numbers[i] * PageBytes, fills[i], PageBytes);
        return content;
    }

    template <class Visit> void forEach(const Visit &visit) const {
        for (size_t i = 0; i < numbers.size(); i++) {
            alignas(FAMS_LINE_BYTES) uint8_t page[PageBytes];
            memset(page, fills[i], PageBytes);
            visit(numbers[i], page);
        }
    }

    int commit(struct fams &fams) const {
        int status = fams_begin(&fams, numbers.size());
        forEach([&](uint64_t number, const uint8_t *page) {
            if (status == 0)
                status = fams_append(&fams, number, page);
        });
        return status == 0 ? fams_commit(&fams) : status;
    }

    void apply(struct fams &fams) const {
        forEach([&](uint64_t number, const uint8_t *page) { fams_apply_page(&fams, number, page); });
        fams_apply_end(&fams);
    }
};
