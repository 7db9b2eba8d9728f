// SPDX-License-Identifier: BSD-3-Clause
//
// kv --engine NAME ...: replaces itself by the program of that engine, which is compiled in its own way and lies in the
// same directory. PROGRAM and ENGINES are definitions of the build.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

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
    static const char *const engines[] = {ENGINES};
    const char *engine = engineArgument(argc, argv);
    std::string list;
    for (const char *known : engines) {
        if (engine && strcmp(known, engine) == 0) {
            std::string program = ownDirectory() + PROGRAM "-" + engine;
            execv(program.c_str(), argv);
            perror((PROGRAM ": cannot run " + program).c_str());
            return 2;
        }
        list += (list.empty() ? "" : ", ") + std::string(known);
    }
    fprintf(stderr, PROGRAM ": --engine must be one of %s; " PROGRAM " --engine NAME --help lists the options\n",
            list.c_str());
    return 2;
}
