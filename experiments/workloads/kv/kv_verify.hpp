// SPDX-License-Identifier: BSD-3-Clause
//
// Checks after a crash that the pool is exactly in the state after its last commit. The pool states the number of its
// commits, and the options determine their content.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "kv_options.hpp"
#include "kv_store.hpp"
#include "ycsb.hpp"

namespace workloads {

using State = std::unordered_map<std::string, uint32_t>;

inline std::string textOf(const Key &key) { return std::string(key.bytes, strnlen(key.bytes, sizeof(key.bytes))); }

inline State expectedState(const KvOptions &options, uint64_t records_loaded, uint64_t commits) {
    State state;
    for (uint64_t i = 0; i < records_loaded; i++)
        state[textOf(keyOf(i))] = loadedValue(i, options.seed);
    RequestStream stream(mixOf(options.workload), options.records, options.operations, options.seed);
    for (uint64_t i = 0; i < options.operations && commits > 0; i++) {
        Request request = stream.next();
        if (request.op == Op::Read || request.op == Op::Scan)
            continue;
        state[textOf(keyOf(request.key_number))] = request.value;
        commits--;
    }
    if (commits > 0)
        throw std::runtime_error("the pool has seen more commits than the workload makes");
    return state;
}

// Returns the differences, or an empty string. Removes the records that the store has from `expected`.
template <class Store> std::string difference(const Store &store, State &expected) {
    std::ostringstream text;
    store.forEach([&](const Record &record) {
        auto found = expected.find(textOf(record.key));
        if (found == expected.end())
            text << "unexpected or double record " << textOf(record.key) << "; ";
        else if (found->second != record.value)
            text << textOf(record.key) << " is " << record.value << " instead of " << found->second << "; ";
        if (found != expected.end())
            expected.erase(found);
        else if (text.tellp() > 500)
            return;
    });
    if (!expected.empty())
        text << expected.size() << " records missing, for example " << expected.begin()->first;
    return text.str().substr(0, 500);
}

template <class Store> std::string compare(const Store &store, const KvOptions &options) {
    if (store.commits() > 0 && store.recordsLoaded() != options.records)
        return "updates were committed before all records were loaded";
    if (store.recordsLoaded() > options.records)
        return "the pool was loaded with more records than --records says";
    State expected = expectedState(options, store.recordsLoaded(), store.commits());
    std::string text = difference(store, expected);
    if (!text.empty())
        return text;
    for (uint64_t i = 0; i < store.recordsLoaded(); i++)
        if (!store.find(keyOf(i)))
            return textOf(keyOf(i)) + " is in the wrong bucket";
    return "";
}

} // namespace workloads
