// SPDX-License-Identifier: BSD-3-Clause
#include "server.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <stdexcept>

namespace workloads {

static constexpr EngineTraits engines[] = {
    {"volatile", "memcached-plain", false, false, false}, // the arena is in DRAM
    {"device", "memcached-plain", true, false, false},    // in a shared mapping of the file, never committed
    {"msync", "memcached-plain", true, true, false},      // the same; a checkpoint is the kernel's msync()
    {"snapshot", "memcached-snapshot", true, true, true}, // compiled with the pass, a failure-atomic msync()
    {"fams-uffd", "memcached-pages", true, true, true},   // the same by pages, without a compiler
    {"bug-late", "memcached-bug-late", true, true, true}, // the checkpoint's metadata are written after its commit
    {"bug-unlocked", "memcached-bug-unlocked", true, true, true}, // a checkpoint does not wait for workers
};

const EngineTraits *traitsOf(const std::string &engine) {
    for (const EngineTraits &each : engines)
        if (engine == each.name)
            return &each;
    return nullptr;
}

std::string engineNames() {
    std::string names;
    for (const EngineTraits &each : engines)
        if (!std::string(each.name).starts_with("bug-"))
            names += (names.empty() ? "" : ", ") + std::string(each.name);
    return names;
}

// A chunk has the item's header, the number for compare-and-swap, the key and its end, the value and its end.
static uint64_t chunkBytes(const ServerOptions &options) {
    return (48 + 8 + 24 + 1 + options.value_bytes + 2 + 7) / 8 * 8;
}

uint64_t Server::arenaMib(const ServerOptions &options) {
    uint64_t in_page = (1 << 20) / chunkBytes(options);
    return (options.records + options.in_flight + in_page - 1) / in_page + 2; // and a page of the largest chunks
}

Server::Server(const ServerOptions &options) : options(options), traits(*traitsOf(options.engine)) {
    if (options.socket.size() >= sizeof(sockaddr_un::sun_path))
        throw std::invalid_argument("--socket has a path of " + std::to_string(options.socket.size()) +
                                    " characters: a socket's has fewer than " +
                                    std::to_string(sizeof(sockaddr_un::sun_path)));
}

Server::~Server() { kill(); }

void Server::removeFiles() const {
    for (const char *suffix : {"", ".meta", ".snapshot-log"})
        unlink((options.file + suffix).c_str());
}

// Neither of Memcached's own threads that move items about: a checkpoint cannot be amid a move.
std::vector<std::string> Server::arguments() const {
    uint64_t smallest = options.threads < 3 ? 12 : 16; // Memcached has locks for fewer buckets than that
    uint64_t hash_power = std::max<uint64_t>(smallest, std::bit_width(options.records));
    std::string more =
        "no_lru_crawler,no_lru_maintainer,no_slab_reassign,no_hashexpand,hashpower=" + std::to_string(hash_power) +
        ",slab_sizes=" + std::to_string(chunkBytes(options)) + "-524288";
    if (traits.checkpoints)
        more += ",checkpoint_us=" + std::to_string(options.epoch_us);
    std::vector<std::string> words{options.program_folder + "/" + traits.program};
    for (std::string word : {"-u", "root", "-M", "-a", "0700", "-s", options.socket.c_str()})
        words.push_back(word);
    for (const auto &[name, value] : {std::pair("-t", options.threads), std::pair("-m", arenaMib(options))})
        words.insert(words.end(), {name, std::to_string(value)});
    words.insert(words.end(), {"-o", more});
    if (traits.has_file)
        words.insert(words.end(), {"-e", options.file});
    return words;
}

void Server::become() const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setenv("EVENT_PRECISE_TIMER", "1", 1); // libevent would round periods up to milliseconds
    if (traits.atomic)
        setenv("SNAPSHOT_DIR", options.file.c_str(), 1);
    if (options.engine == "fams-uffd")
        setenv("SNAPSHOT_TRACK", "uffd", 1);
    std::vector<std::string> words = arguments();
    std::vector<char *> pointers;
    for (std::string &word : words)
        pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(127);
}

void Server::start() {
    unlink(options.socket.c_str());
    pid = fork();
    if (pid < 0)
        throw std::runtime_error(std::string("cannot start the server: ") + strerror(errno));
    if (pid == 0)
        become();
}

void Server::kill() {
    if (pid < 0)
        return;
    ::kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    pid = -1;
}

void Server::checkAlive() {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) != pid)
        return;
    pid = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
        throw std::runtime_error("cannot run " + options.program_folder + "/" + traits.program +
                                 ": it belongs beside this program");
    throw std::runtime_error("the server has ended: see what it said");
}

uint64_t Server::cpuNs() const {
    clockid_t clock;
    timespec time{};
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0)
        return 0;
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

} // namespace workloads
