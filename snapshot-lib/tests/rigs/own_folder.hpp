// SPDX-License-Identifier: BSD-3-Clause
//
// A test with a folder of its own and a path in it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <gtest/gtest.h>
#include <string>

class OwnFolder : public testing::Test {
  protected:
    void SetUp() override {
        directory = std::filesystem::temp_directory_path() / ("snapshot-test-" + std::to_string(getpid()));
        std::filesystem::remove_all(directory);
        std::filesystem::create_directories(directory);
        path = directory / "data";
    }
    void TearDown() override { std::filesystem::remove_all(directory); }

    std::filesystem::path directory;
    std::string path;
};
