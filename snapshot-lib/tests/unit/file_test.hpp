// SPDX-License-Identifier: BSD-3-Clause
//
// A test of a tracked file in a folder of its own.
#pragma once

#include <cstdint>
#include <cstring>

#include "own_folder.hpp"
#include "runtime_under_test.hpp"

class FileTest : public OwnFolder {
  protected:
    void TearDown() override {
        recorder = nullptr;
        OwnFolder::TearDown();
    }

    static uint64_t word(const uint8_t *address) {
        uint64_t value;
        memcpy(&value, address, sizeof(value));
        return value;
    }
    static uint64_t word(const TrackedFile &file, size_t offset) { return word(file.working() + offset); }
};
