// SPDX-License-Identifier: BSD-3-Clause
//
// A test with a folder of its own and a path in it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>

#include "runtime_under_test.hpp"

class FileTest : public testing::Test {
  protected:
    void SetUp() override {
        directory = std::filesystem::temp_directory_path() / ("snapshot-test-" + std::to_string(getpid()));
        std::filesystem::remove_all(directory);
        std::filesystem::create_directories(directory);
        path = directory / "data";
    }
    void TearDown() override {
        recorder = nullptr;
        std::filesystem::remove_all(directory);
    }

    static uint64_t word(const uint8_t *address) {
        uint64_t value;
        memcpy(&value, address, sizeof(value));
        return value;
    }
    static uint64_t word(const TrackedFile &file, size_t offset) { return word(file.working() + offset); }

    std::filesystem::path directory;
    std::string path;
};
