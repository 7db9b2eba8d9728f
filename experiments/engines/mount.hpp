// SPDX-License-Identifier: BSD-3-Clause
//
// The file system of a path and its mount options, for engines that are defined by the file system they run on.
#pragma once

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>

#include "engine.hpp"

namespace engines {

inline std::string folderOf(const std::string &path) {
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

struct Mount {
    std::string type;    // "ext4"
    std::string options; // of the file system, between commas: ",rw,data=journal,"

    bool has(const std::string &option) const { return options.find("," + option + ",") != std::string::npos; }
};

// The mount of the folder of `path`; the file itself need not exist yet. The type is empty if the kernel does not name
// it.
inline Mount mountOf(const std::string &path) {
    struct stat status{};
    if (stat(folderOf(path).c_str(), &status) < 0)
        fail(errno, "cannot open " + path);
    std::string device = std::to_string(major(status.st_dev)) + ":" + std::to_string(minor(status.st_dev));
    std::ifstream table("/proc/self/mountinfo");
    // 36 35 98:0 / /mnt rw,noatime shared:1 - ext4 /dev/sda1 rw,data=journal
    for (std::string line; std::getline(table, line);) {
        std::istringstream words(line);
        std::string word, number, type, source, options;
        words >> word >> word >> number;
        while (words >> word && word != "-")
            ;
        words >> type >> source >> options;
        if (number == device)
            return {type, "," + options + ","};
    }
    return {};
}

} // namespace engines
