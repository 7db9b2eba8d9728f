// SPDX-License-Identifier: BSD-3-Clause
//
// kyoto --engine NAME ...: becomes kyoto-NAME, which lies beside this program. Two builds of one library do not fit
// into one program.
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "kyoto_options.hpp"

static std::string ownDirectory() {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    std::string self(path, length > 0 ? static_cast<size_t>(length) : 0);
    return self.substr(0, self.rfind('/') + 1);
}

int main(int argc, char **argv) {
    try {
        std::string engine = programs::parseKyotoOptions(argc, argv).engine;
        if (engine != "wal" && engine != "snapshot")
            throw std::invalid_argument("--engine must be wal or snapshot");
        std::string program = ownDirectory() + "kyoto-" + engine;
        execv(program.c_str(), argv);
        perror(("kyoto: cannot run " + program).c_str());
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "kyoto: %s\n%s", error.what(), programs::KyotoUsage);
    }
    return 2;
}
