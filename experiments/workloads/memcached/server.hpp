// SPDX-License-Identifier: BSD-3-Clause
//
// Memcached as a child of the client: which program and which arguments an engine has, and how it starts and dies.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace workloads {

struct ServerOptions {
    std::string engine, file, socket, program_folder;
    uint64_t records = 0, value_bytes = 0, threads = 1, epoch_us = 0, in_flight = 0;
};

// Of an engine: does it have a file, does it make checkpoints, and are these all or nothing?
struct EngineTraits {
    const char *name, *program;
    bool has_file, checkpoints, atomic;
};
const EngineTraits *traitsOf(const std::string &engine); // nullptr: there is none of that name
std::string engineNames();

class Server {
  public:
    explicit Server(const ServerOptions &options);
    ~Server();
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;

    void removeFiles() const; // of an earlier run
    void start();             // throws if the program cannot be started
    void kill();              // SIGKILL, and waits for the end
    void checkAlive();        // throws if it has ended
    uint64_t cpuNs() const;   // of all its threads, so far

    static uint64_t arenaMib(const ServerOptions &options);

  private:
    std::vector<std::string> arguments() const;
    [[noreturn]] void become() const;

    ServerOptions options;
    const EngineTraits &traits;
    pid_t pid = -1;
};

} // namespace workloads
