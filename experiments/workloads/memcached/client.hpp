// SPDX-License-Identifier: BSD-3-Clause
//
// One client: its own connection, its own keys and YCSB's stream of requests for them. It remembers each write, so that
// it knows after a crash which values a state may have: those after some number of its writes, of all keys the same
// number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "connection.hpp"
#include "value.hpp"
#include "ycsb.hpp"

namespace workloads {

struct ClientOptions {
    uint64_t records, operations, writes_percent, value_bytes, depth, seed;
    uint64_t number, clients; // which of how many
};

class Client {
  public:
    explicit Client(const ClientOptions &options)
        : options(options), value(options.value_bytes),
          stream({static_cast<double>(100 - options.writes_percent) / 100.0,
                  static_cast<double>(options.writes_percent) / 100.0, 0, 0, 0, false},
                 options.records, options.operations, options.seed + options.number) {}

    Connection connection;

    void load() {
        for (uint64_t begin = 0; begin < options.records; begin += options.depth) {
            uint64_t end = std::min(begin + options.depth, options.records);
            for (uint64_t key = begin; key < end; key++)
                askToStore(key, 0);
            connection.send();
            for (uint64_t key = begin; key < end; key++)
                connection.stored();
        }
    }

    bool isDone() const { return made == options.operations; }

    // As many requests as are sent together; `after_sending` is called before any answer is read.
    template <class Call> void batch(Call &&after_sending) {
        uint64_t requests = std::min(options.depth, options.operations - made);
        is_write.assign(requests, false);
        asked.assign(requests, 0);
        for (uint64_t i = 0; i < requests; i++) {
            Request request = stream.next();
            asked[i] = request.key_number;
            is_write[i] = request.op == Op::Update;
            if (is_write[i]) {
                writes.push_back(request.key_number);
                askToStore(request.key_number, writes.size());
            } else {
                connection.askFor(keyText(request.key_number));
            }
        }
        connection.send();
        made += requests;
        after_sending();
        for (uint64_t i = 0; i < requests; i++)
            answer(i);
    }

    // A checkpoint after number `checkpoints` has everything that was acknowledged before this call.
    bool promise(uint64_t checkpoints) {
        bool more = checkpoints > checkpoints_then && acknowledged_then > promised;
        if (checkpoints > checkpoints_then)
            promised = acknowledged_then;
        acknowledged_then = acknowledged;
        checkpoints_then = checkpoints;
        return more;
    }
    void promiseAtLeast(uint64_t writes) { promised = std::max(promised, writes); }

    // As if all requests had been made and sent: a process that checks another's store does not know their number.
    void imagineAll() {
        for (; made < options.operations; made++)
            if (Request request = stream.next(); request.op == Op::Update)
                writes.push_back(request.key_number);
    }

    // After a restart: throws unless the items are those after so many of this client's writes, no fewer than were
    // promised. All later writes were lost, and are forgotten here.
    void verify() {
        std::vector<uint64_t> versions(options.records), latest(options.records);
        readAll(versions);
        recovered = *std::max_element(versions.begin(), versions.end());
        if (recovered > writes.size())
            wrong("an item is of write " + std::to_string(recovered) + ", and " + std::to_string(writes.size()) +
                  " were sent");
        if (recovered < promised)
            wrong("the items are of write " + std::to_string(recovered) + " or before, and " +
                  std::to_string(promised) + " writes were acknowledged before a checkpoint");
        for (uint64_t version = 1; version <= recovered; version++)
            latest[writes[version - 1]] = version;
        for (uint64_t key = 0; key < options.records; key++)
            if (versions[key] != latest[key])
                wrong("record " + std::to_string(key) + " is of write " + std::to_string(versions[key]) + " and not " +
                      std::to_string(latest[key]) + ", and there is an item of write " + std::to_string(recovered));
        compareAndSwap();
        lost = acknowledged > recovered ? acknowledged - recovered : 0;
        writes.resize(recovered);
        acknowledged = acknowledged_then = promised = recovered;
        checkpoints_then = UINT64_MAX >> 1; // of a server that is no more
    }
    void beginAgain(uint64_t checkpoints) { checkpoints_then = checkpoints; }

    uint64_t written() const { return acknowledged; }
    uint64_t lostWrites() const { return lost; }
    uint64_t promisedWrites() const { return promised; }

  private:
    std::string keyText(uint64_t key) const {
        Key text = keyOf(key * options.clients + options.number);
        return {text.bytes, text.length()};
    }
    uint64_t nameOf(uint64_t key) const { return key * options.clients + options.number; }

    void askToStore(uint64_t key, uint64_t version) {
        connection.askToStore(keyText(key), value.fill({nameOf(key), version}));
    }

    // The minimum that a request's answer must state: the only check while time is measured.
    void answer(uint64_t i) {
        if (is_write[i]) {
            connection.stored();
            acknowledged++;
            return;
        }
        Found found = connection.found();
        if (!found.there || found.value.size() != options.value_bytes ||
            Value::claimOf(found.value).key_number != nameOf(asked[i]))
            wrong("record " + std::to_string(asked[i]) + " is not there, or another one is in its place");
    }

    void readAll(std::vector<uint64_t> &versions) {
        for (uint64_t begin = 0; begin < options.records; begin += options.depth) {
            uint64_t end = std::min(begin + options.depth, options.records);
            for (uint64_t key = begin; key < end; key++)
                connection.askFor(keyText(key), "gets ");
            connection.send();
            for (uint64_t key = begin; key < end; key++)
                versions[key] = versionOf(key, connection.found());
        }
    }

    uint64_t versionOf(uint64_t key, const Found &found) {
        if (!found.there)
            wrong("record " + std::to_string(key) + " is gone");
        largest_cas = std::max(largest_cas, found.cas);
        std::optional<Written> whole =
            found.value.size() == options.value_bytes ? Value::whole(found.value) : std::nullopt;
        if (!whole || whole->key_number != nameOf(key))
            wrong("record " + std::to_string(key) + " is torn, or another one is in its place");
        return whole->version;
    }

    // A number for compare-and-swap is never given twice.
    void compareAndSwap() {
        std::string key = "probe" + std::to_string(options.number);
        connection.askToStore(key, "1");
        connection.askFor(key, "gets ");
        connection.send();
        connection.stored();
        uint64_t cas = connection.found().cas;
        if (cas <= largest_cas)
            wrong("the server gives number " + std::to_string(cas) + " for compare-and-swap, and an item already has " +
                  std::to_string(largest_cas));
        connection.ask(("delete " + key).c_str());
        connection.send();
        connection.words("DELETED");
    }

    [[noreturn]] void wrong(const std::string &what) const {
        throw std::runtime_error("client " + std::to_string(options.number) + ": " + what);
    }

    ClientOptions options;
    Value value;
    RequestStream stream;
    std::vector<uint64_t> writes; // the key of each, in their order
    std::vector<bool> is_write;   // of the requests under way
    std::vector<uint64_t> asked;
    uint64_t made = 0, acknowledged = 0, promised = 0, recovered = 0, lost = 0, largest_cas = 0;
    uint64_t acknowledged_then = 0, checkpoints_then = 0;
};

} // namespace workloads
