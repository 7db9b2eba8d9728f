// SPDX-License-Identifier: BSD-3-Clause
//
// kv --engine NAME ...: becomes the program of that engine, which is compiled its own way and lies beside this one.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "options.hpp"

static const char *engineArgument(int argc, char **argv) {
    constexpr char name[] = "--engine";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0)
            return i + 1 < argc ? argv[i + 1] : nullptr;
        if (strncmp(argv[i], "--engine=", sizeof(name)) == 0)
            return argv[i] + sizeof(name);
    }
    return nullptr;
}

static std::string ownDirectory() {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    std::string self(path, length > 0 ? static_cast<size_t>(length) : 0);
    return self.substr(0, self.rfind('/') + 1);
}

int main(int argc, char **argv) {
    static const char *const engines[] = {"snapshot", "pmdk",     "msync-4k",
                                          "msync-2m", "volatile", "volatile-instrumented"};
    const char *engine = engineArgument(argc, argv);
    bool known = engine && std::any_of(std::begin(engines), std::end(engines),
                                       [&](const char *name) { return strcmp(name, engine) == 0; });
    if (!known) {
        fprintf(stderr, "kv: --engine must be snapshot, pmdk, msync-4k, msync-2m or volatile\n%s", workloads::Usage);
        return 2;
    }
    std::string program = ownDirectory() + "kv-" + engine;
    execv(program.c_str(), argv);
    perror(("kv: cannot run " + program).c_str());
    return 2;
}
