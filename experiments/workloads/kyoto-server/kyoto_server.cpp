// SPDX-License-Identifier: BSD-3-Clause
//
// kyoto-server-ENGINE: a Kyoto Cabinet database behind a Unix socket, in one of the modes that Kyoto Tycoon offers, and
// clients that ask it: insertions, replacements, deletions, each a request of its own that is answered when it is as
// durable as the mode makes it. A client waits for the answer before it asks again. The server is another process.
// ENGINE and DURABLE_BY are definitions of the build.
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <map>

#include "channel.hpp"
#include "clock.hpp"
#include "database.hpp"
#include "latency.hpp"
#include "options.hpp"
#include "random.hpp"
#include "report.hpp"
#include "testbed_roi.h"

namespace server {

struct Options : workloads::Options {
    bool is_tree = false;
    uint64_t records = 10000, requests = 1000, clients = 1, kill_after = 0;

    std::vector<workloads::Flag> flags() {
        using workloads::number;
        return {
            {"db", "tree|hash", "TreeDB or HashDB (default hash)", [this](const char *text) { setKind(text); }},
            {"records", "N", "loaded before the measurement (default 10000)",
             [this](const char *text) { records = number("records", text, 1, 100'000'000); }},
            {"requests", "N", "of each kind (default 1000)",
             [this](const char *text) { requests = number("requests", text, 1, 100'000'000); }},
            {"clients", "N", "that ask at a time, 1 to 64 (default 1)",
             [this](const char *text) { clients = number("clients", text, 1, 64); }},
            {"kill-after", "N", "insertions: kill the server, start it again, and look for what it had answered",
             [this](const char *text) { kill_after = number("kill-after", text, 1, 100'000'000); }},
        };
    }

  private:
    void setKind(const char *text) {
        is_tree = strcmp(text, "tree") == 0;
        if (!is_tree && strcmp(text, "hash") != 0)
            throw std::invalid_argument("--db must be tree or hash, not '" + std::string(text) + "'");
    }
};

// Neighbouring numbers are far apart.
static std::string keyText(uint64_t number) { return "user" + std::to_string(workloads::splitmix64(number)); }
static uint64_t loadedValue(uint64_t number, uint64_t seed) { return workloads::splitmix64(seed ^ number << 1); }

// ---- The server's process ----

static Reply answer(Database &database, const Request &request) {
    std::string key(request.key, request.key_bytes);
    Reply reply{0, request.value};
    switch (request.operation) {
    case Operation::Insert:
        reply.done = database.insert(key, request.value);
        break;
    case Operation::Replace:
        reply.done = database.replace(key, request.value);
        break;
    case Operation::Delete:
        reply.done = database.remove(key);
        break;
    case Operation::Get:
        reply.done = database.get(key, reply.value);
        break;
    }
    return reply;
}

static int serveProcess(const Options &options, int listening, bool create) {
    try {
        // Half as many again: each inserted record takes room before another is deleted.
        Database database(options.file, options.is_tree, options.records + options.requests, DURABLE_BY, create);
        if (create)
            database.load(options.records,
                          [&](uint64_t i) { database.insert(keyText(i), loadedValue(i, options.seed)); });
        serve(listening, options.clients, [&](const Request &request) { return answer(database, request); });
        return 0;
    } catch (const std::exception &error) {
        fprintf(stderr, "kyoto-server: %s\n", error.what());
        return 2;
    }
}

class Server {
  public:
    Server(const Options &options, bool create) : address("kyoto-server." + std::to_string(getpid())) {
        int listening = address.listening();
        process = fork();
        if (process < 0)
            failed("cannot start the server");
        if (process == 0)
            _exit(serveProcess(options, listening, create));
        close(listening); // a client that connects after the server has died is refused
        for (uint64_t i = 0; i < options.clients; i++)
            sockets.push_back(address.connected());
    }
    ~Server() {
        kill();
        end();
    }
    Server(const Server &) = delete;
    Server &operator=(const Server &) = delete;

    const std::vector<int> &clients() const { return sockets; }
    void kill() {
        if (process > 0)
            ::kill(process, SIGKILL);
    }
    // Whether it ended as it should when the clients leave.
    bool end() {
        for (int socket : sockets)
            close(socket);
        sockets.clear();
        int status = 0;
        bool waited = process > 0 && waitpid(process, &status, 0) == process;
        process = -1;
        return waited && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }

  private:
    Address address;
    pid_t process;
    std::vector<int> sockets;
};

// ---- The clients' process ----

using Contents = std::map<uint64_t, uint64_t>; // of keys by number

static Request requestOf(Operation operation, uint64_t number, uint64_t value) {
    std::string key = keyText(number);
    Request request{operation, static_cast<uint32_t>(key.size()), {}, value};
    memcpy(request.key, key.data(), key.size());
    return request;
}

struct Phase {
    const char *name;
    std::vector<Request> requests;
    workloads::LatencyHistogram latencies;
    uint64_t sum_ns = 0, roi_ns = 0, answered = 0;
};

// Each client has one request under way. Ends after `most` answers.
static void ask(const Server &server, Phase &phase, uint64_t most) {
    std::vector<pollfd> waiting;
    std::vector<uint64_t> begins_ns;
    size_t sent = 0;
    auto next = [&](size_t client) {
        if (sent == phase.requests.size())
            return;
        begins_ns[client] = workloads::nowNs();
        if (!transmit(server.clients()[client], phase.requests[sent++]))
            throw std::runtime_error("the server ended before it had answered");
    };
    for (int socket : server.clients()) {
        waiting.push_back({socket, POLLIN, 0});
        begins_ns.push_back(0);
        next(waiting.size() - 1);
    }
    while (phase.answered < most) {
        if (poll(waiting.data(), waiting.size(), -1) < 0)
            failed("cannot wait for answers");
        for (size_t client = 0; client < waiting.size(); client++) {
            Reply reply;
            if (waiting[client].revents == 0)
                continue;
            if (!receive(waiting[client].fd, reply))
                throw std::runtime_error("the server ended before it had answered");
            uint64_t took_ns = workloads::nowNs() - begins_ns[client];
            if (!reply.done)
                throw std::runtime_error(std::string(phase.name) + " was not done");
            phase.latencies.record(took_ns);
            phase.sum_ns += took_ns;
            phase.answered++;
            next(client);
        }
    }
}

static std::vector<Phase> phasesOf(const Options &options, Contents &contents) {
    std::vector<Phase> phases{{"insert", {}, {}}, {"replace", {}, {}}, {"delete", {}, {}}};
    workloads::Random random(options.seed);
    for (uint64_t i = 0; i < options.records; i++)
        contents[i] = loadedValue(i, options.seed);
    for (uint64_t i = 0; i < options.requests; i++) {
        uint64_t fresh = options.records + i, old = random.below(options.records), value = random.next();
        phases[0].requests.push_back(requestOf(Operation::Insert, fresh, loadedValue(fresh, options.seed)));
        phases[1].requests.push_back(requestOf(Operation::Replace, old, value));
        phases[2].requests.push_back(requestOf(Operation::Delete, fresh, 0));
        // If two clients replace the same record, their order is unknown.
        if (options.clients == 1)
            contents[old] = value;
        else
            contents.erase(old);
    }
    return phases;
}

static bool holds(int socket, uint64_t number, uint64_t value) {
    Reply reply;
    if (!transmit(socket, requestOf(Operation::Get, number, 0)) || !receive(socket, reply))
        throw std::runtime_error("the server ended before it had answered");
    return reply.done && reply.value == value;
}

static void report(const Options &options, const Phase &phase) {
    workloads::Report row;
    row.add("program", "kyoto-server").add("engine", ENGINE).add("db", options.is_tree ? "tree" : "hash");
    row.add("operation", phase.name).add("records", options.records).add("clients", options.clients);
    row.add("requests", phase.answered).add("roi_ns", phase.roi_ns).add("response_ns", phase.sum_ns / phase.answered);
    row.add("p99_ns", phase.latencies.quantile(99'000)).add("longest_ns", phase.latencies.max());
    row.add("seed", options.seed).print();
}

static int run(const Options &options) {
    Contents contents;
    std::vector<Phase> phases = phasesOf(options, contents);
    Server server(options, true);
    holds(server.clients()[0], 0, 0); // it has loaded
    unsigned region = 1;
    for (Phase &phase : phases) {
        testbed_roi_begin(region++);
        uint64_t begin_ns = workloads::nowNs();
        ask(server, phase, phase.requests.size());
        phase.roi_ns = workloads::nowNs() - begin_ns;
        testbed_roi_end();
    }
    for (const auto &[number, value] : contents)
        if (!holds(server.clients()[0], number, value))
            throw std::runtime_error(keyText(number) + " is missing or has another value");
    for (uint64_t i = 0; i < options.requests; i++)
        if (Reply reply; !transmit(server.clients()[0], requestOf(Operation::Get, options.records + i, 0)) ||
                         !receive(server.clients()[0], reply) || reply.done)
            throw std::runtime_error(keyText(options.records + i) + " is there and was deleted");
    if (!server.end())
        throw std::runtime_error("the server did not end as it should");
    for (const Phase &phase : phases)
        report(options, phase);
    return 0;
}

// Whether each insertion that was answered is there after the server was killed.
static int killed(const Options &options) {
    Contents contents;
    Phase phase = std::move(phasesOf(options, contents)[0]);
    {
        Server server(options, true);
        ask(server, phase, std::min(options.kill_after, options.requests));
        server.kill();
    }
    Server server(options, false);
    uint64_t lost = 0;
    for (uint64_t i = 0; i < phase.answered; i++)
        lost += !holds(server.clients()[0], options.records + i, loadedValue(options.records + i, options.seed));
    workloads::Report row;
    row.add("program", "kyoto-server-killed").add("engine", ENGINE).add("db", options.is_tree ? "tree" : "hash");
    row.add("acknowledged", phase.answered).add("lost", lost).addBool("verified", lost == 0).print();
    return lost == 0 ? 0 : 1;
}

static int runProgram(const Options &options) {
    if (!options.engine.empty() && options.engine != ENGINE)
        throw std::invalid_argument("this is the program of the engine " ENGINE);
    if (options.file.empty())
        throw std::invalid_argument("--file is missing: give a path on the file system under test");
    if (options.kill_after && options.clients > 1)
        throw std::invalid_argument("--kill-after is for one client");
    if (strcmp(ENGINE, "fams-uffd") == 0)
        setenv("SNAPSHOT_TRACK", "uffd", 1);
    return options.kill_after ? killed(options) : run(options);
}

} // namespace server

int main(int argc, char **argv) {
    server::Options options;
    std::vector<workloads::Flag> flags = workloads::commonFlags(options);
    for (workloads::Flag &flag : options.flags())
        flags.push_back(flag);
    try {
        workloads::parse(argc, argv, flags);
        if (options.help)
            return fputs(workloads::usage("kyoto-server", flags).c_str(), stdout) < 0;
        return server::runProgram(options);
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "kyoto-server: %s\n%s", error.what(), workloads::usage("kyoto-server", flags).c_str());
    } catch (const std::exception &error) {
        fprintf(stderr, "kyoto-server: %s\n", error.what());
    }
    return 2;
}
