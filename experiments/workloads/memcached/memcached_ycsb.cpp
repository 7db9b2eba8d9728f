// SPDX-License-Identifier: BSD-3-Clause
//
// YCSB against Memcached over a Unix socket. This program starts the server of an engine, loads it, and measures. It
// may then kill the server, start it again, and check the records there.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "client.hpp"
#include "clock.hpp"
#include "crew.hpp"
#include "options.hpp"
#include "report.hpp"
#include "server.hpp"
#include "testbed_roi.h"

namespace workloads {

struct YcsbOptions {
    ServerOptions server;
    uint64_t operations = 1000, writes_percent = 50, depth = 16, clients = 1, seed = 1, kill_after = 0, promised = 0;
    bool crash = false, verify = false, marks = false, help = false;

    void check() {
        if (!traitsOf(server.engine))
            throw std::invalid_argument("--engine must be one of " + engineNames() + ", not '" + server.engine + "'");
        if (server.value_bytes % 8 != 0)
            throw std::invalid_argument("--value must be a multiple of 8, not " + std::to_string(server.value_bytes));
        if (server.records % clients != 0 || operations % clients != 0)
            throw std::invalid_argument("--records and --operations must be multiples of --clients, " +
                                        std::to_string(clients));
        const EngineTraits &traits = *traitsOf(server.engine);
        if (traits.has_file && server.file.empty())
            throw std::invalid_argument("--file is missing: the arena of " + server.engine +
                                        " needs a path on the device");
        if (traits.checkpoints && server.epoch_us == 0)
            throw std::invalid_argument("--epoch is missing: give the length of an epoch in microseconds, at least 1");
        if ((kill_after || verify || marks) && !traits.checkpoints)
            throw std::invalid_argument("the engine " + server.engine +
                                        " makes no checkpoints to start from after a crash");
        if (kill_after > operations / clients)
            throw std::invalid_argument("--kill-after is larger than the number of operations of a client");
        server.in_flight = depth * clients + 64;
    }

    std::vector<Flag> flags() {
        return {
            {"engine", "NAME", "where the items are, and what a checkpoint is",
             [this](const char *text) { server.engine = text; }},
            {"file", "PATH", "of the arena", [this](const char *text) { server.file = text; }},
            {"socket", "PATH", "(default /tmp/memcached-ycsb)", [this](const char *text) { server.socket = text; }},
            {"records", "N", "items (default 1000)",
             [this](const char *text) { server.records = number("records", text, 1, 1 << 28); }},
            {"operations", "N", "of all clients (default 1000)",
             [this](const char *text) { operations = number("operations", text, 0, Many); }},
            {"writes", "PERCENT", "of the operations; the others read (default 50)",
             [this](const char *text) { writes_percent = number("writes", text, 0, 100); }},
            {"value", "BYTES", "of an item (default 1000)",
             [this](const char *text) { server.value_bytes = number("value", text, 16, 100'000); }},
            {"depth", "N", "requests that a client sends together (default 16)",
             [this](const char *text) { depth = number("depth", text, 1, 1024); }},
            {"clients", "N", "each with a connection, a thread and keys of its own (default 1)",
             [this](const char *text) { clients = number("clients", text, 1, 64); }},
            {"threads", "N", "of the server (default 1)",
             [this](const char *text) { server.threads = number("threads", text, 1, 64); }},
            {"epoch", "US", "from one checkpoint to the next, in microseconds",
             [this](const char *text) { server.epoch_us = number("epoch", text, 1, 3'600'000'000); }},
            {"seed", "S", "of the requests (default 1)",
             [this](const char *text) { seed = number("seed", text, 0, UINT64_MAX); }},
            {"crash", nullptr,
             "at the end, if checkpoints are all or nothing: kill the server, start it again and look at every item",
             [this](const char *) { crash = true; }},
            {"kill-after", "N", "kill it amid the answers to these operations of a client already",
             [this](const char *text) { kill_after = number("kill-after", text, 1, Many); }},
            {"marks", nullptr, "tell the testbed what checkpoints have", [this](const char *) { marks = true; }},
            {"verify", nullptr,
             "start the server on the file of an earlier run that ended anywhere, and look at every item",
             [this](const char *) { verify = true; }},
            {"promised", "N", "writes that a checkpoint had, for --verify (default 0)",
             [this](const char *text) { promised = number("promised", text, 0, Many); }},
            {"help", nullptr, "this text", [this](const char *) { help = true; }},
        };
    }
};

class Ycsb {
  public:
    explicit Ycsb(const YcsbOptions &options)
        : options(options), traits(*traitsOf(options.server.engine)), server(options.server) {
        for (uint64_t number = 0; number < options.clients; number++)
            clients.emplace_back(ClientOptions{
                options.server.records / options.clients, options.operations / options.clients, options.writes_percent,
                options.server.value_bytes, options.depth, options.seed, number, options.clients});
    }

    void run() {
        server.removeFiles();
        connect();
        for (Client &client : clients)
            client.load();
        settle();
        measure();
        if ((options.crash && traits.atomic) || options.kill_after)
            crash();
    }

    void verify() {
        for (Client &client : clients) {
            client.imagineAll();
            client.promiseAtLeast(options.promised);
        }
        restart();
    }

    void print() const {
        uint64_t lost = 0, written = 0;
        for (const Client &client : clients) {
            lost += client.lostWrites();
            written += client.written();
        }
        Report row;
        row.add("program", "memcached-ycsb")
            .add("engine", options.server.engine)
            .add("records", options.server.records);
        row.add("operations", options.operations).add("writes_percent", options.writes_percent);
        row.add("value_bytes", options.server.value_bytes).add("depth", options.depth).add("clients", options.clients);
        row.add("threads", options.server.threads).add("seed", options.seed);
        row.add("arena_bytes", Server::arenaMib(options.server) << 20)
            .add("epoch_ns", traits.checkpoints ? options.server.epoch_us * 1000 : 0);
        row.add("roi_ns", roi_ns).add("server_cpu_ns", server_cpu_ns).add("checkpoints", checkpoints);
        row.add("stop_ns", stop_ns).add("longest_stop_ns", longest_stop_ns);
        if (restarted)
            row.add("restart_ns", restart_ns)
                .add("kept_writes", written)
                .add("lost_writes", lost)
                .addBool("verified", true);
        row.print();
    }

  private:
    void connect() {
        server.start();
        for (Client &client : clients)
            while (!client.connection.open(options.server.socket)) {
                server.checkAlive();
                usleep(50);
            }
    }

    // The loaded records are in a checkpoint, and the checkpoint under way has ended.
    void settle() {
        if (traits.checkpoints)
            awaitCheckpoints(2);
        for (Client &client : clients)
            client.beginAgain(clients[0].connection.statistic("checkpoints"));
    }

    void awaitCheckpoints(uint64_t more) {
        uint64_t before = clients[0].connection.statistic("checkpoints");
        while (clients[0].connection.statistic("checkpoints") < before + more)
            usleep(200);
    }

    // All of it in the region of interest: outside of that the guest's time is no measure, and there are checkpoints,
    // too.
    void measure() {
        Connection &connection = clients[0].connection;
        Crew crew(options.clients, [this](uint64_t number) { work(number); });
        if (options.marks)
            testbed_mark(0);
        testbed_roi_begin(1);
        connection.ask("stats reset");
        connection.send();
        connection.words("RESET");
        uint64_t checkpoints_before = connection.statistic("checkpoints");
        uint64_t stop_before = connection.statistic("checkpoint_ns"), cpu_before = server.cpuNs();
        uint64_t begin_ns = nowNs();
        crew.run();
        roi_ns = nowNs() - begin_ns;
        if (!killed) {
            server_cpu_ns = server.cpuNs() - cpu_before;
            stop_ns = connection.statistic("checkpoint_ns") - stop_before;
            checkpoints = connection.statistic("checkpoints") - checkpoints_before;
            longest_stop_ns = connection.statistic("checkpoint_longest_ns");
            if (options.marks)
                markTheEnd();
            if (options.crash && traits.atomic)
                kill();
        }
        testbed_roi_end();
    }

    void work(uint64_t number) {
        Client &client = clients[number];
        bool watched = options.kill_after || options.marks;
        try {
            for (uint64_t batch = 1; !client.isDone(); batch++) {
                client.batch([&] {
                    if (options.kill_after && number == 0 && batch * options.depth >= options.kill_after)
                        kill();
                });
                if (watched && batch % 4 == 0 && client.promise(client.connection.statistic("checkpoints")) &&
                    options.marks)
                    testbed_mark(static_cast<uint32_t>(client.promisedWrites()));
            }
        } catch (const ServerGone &) {
            if (!killed)
                throw;
        }
    }

    void markTheEnd() {
        Client &client = clients[0];
        client.promise(client.connection.statistic("checkpoints"));
        awaitCheckpoints(1);
        client.promise(client.connection.statistic("checkpoints"));
        testbed_mark(static_cast<uint32_t>(client.promisedWrites()));
    }

    void kill() {
        killed = true;
        server.kill();
    }

    void crash() {
        if (!killed)
            kill();
        for (Client &client : clients)
            client.connection.close();
        restart();
    }

    // Until each client has an answer.
    void restart() {
        testbed_roi_begin(2);
        uint64_t begin_ns = nowNs();
        connect();
        for (Client &client : clients) {
            client.connection.askFor("nothing");
            client.connection.send();
            client.connection.found();
        }
        restart_ns = nowNs() - begin_ns;
        testbed_roi_end();
        restarted = true;
        for (Client &client : clients)
            client.verify();
    }

    YcsbOptions options;
    const EngineTraits &traits;
    Server server;
    std::deque<Client> clients; // which stay where they are
    std::atomic<bool> killed = false;
    bool restarted = false;
    uint64_t roi_ns = 0, server_cpu_ns = 0, checkpoints = 0, stop_ns = 0, longest_stop_ns = 0, restart_ns = 0;
};

static std::string folderOfThisProgram() {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
    std::string text(path, length > 0 ? static_cast<size_t>(length) : 0);
    return text.substr(0, text.rfind('/'));
}

static int runYcsb(int argc, char **argv) {
    YcsbOptions options;
    options.server.socket = "/tmp/memcached-ycsb";
    options.server.records = 1000;
    options.server.value_bytes = 1000;
    options.server.program_folder = folderOfThisProgram();
    std::vector<Flag> flags = options.flags();
    try {
        parse(argc, argv, flags);
        if (options.help) {
            fputs(usage("memcached-ycsb", flags).c_str(), stdout);
            return 0;
        }
        options.check();
        Ycsb ycsb(options);
        if (options.verify)
            ycsb.verify();
        else
            ycsb.run();
        ycsb.print();
    } catch (const std::invalid_argument &error) {
        fprintf(stderr, "memcached-ycsb: %s\n", error.what());
        return 2;
    } catch (const std::exception &error) {
        fprintf(stderr, "memcached-ycsb: %s\n", error.what());
        return 1;
    }
    return 0;
}

} // namespace workloads

int main(int argc, char **argv) { return workloads::runYcsb(argc, argv); }
