// SPDX-License-Identifier: BSD-3-Clause
//
// The workload leaves: the requests of kv on leaves with undo copies. The keys are the numbers in YCSB's keys.
#pragma once

#include "leaf_map.hpp"
#include "lines_file.hpp"
#include "rival_kv.hpp"

namespace workloads {

template <class Engine> class LeafStore {
  public:
    static constexpr const char *Name = "leaves";

    static size_t bytes(const RivalOptions &options) {
        return Map::linesOf(leavesFor(options), leavesFor(options)) * sizeof(Payload);
    }

    LeafStore(Engine &engine, const RivalOptions &options)
        : engine(engine), map(engine, leavesFor(options), leavesFor(options)) {}

    std::optional<FoundValue> find(const Key &key) const { return foundValue(map.find(numberOf(key))); }
    bool update(const Key &key, uint32_t value) { return map.update(numberOf(key), value); }
    void insert(const Key &key, uint32_t value) { map.put(numberOf(key), value); }

    void endEpoch() {
        map.endEpoch();
        engine.counted.log_bytes = map.leavesLogged() * sizeof(typename Map::Logged);
    }

    template <class Visit> void forEach(Visit &&visit) const {
        map.forEach([&](uint64_t number, uint64_t value) { visit(keyOfNumber(number), static_cast<uint32_t>(value)); });
    }

  private:
    using Map = rivals::LeafMap<Engine>;
    using Payload = char[64];

    // A leaf that was split has at least half of its slots in use. The log has room for each leaf once.
    static size_t leavesFor(const RivalOptions &options) {
        return options.keysAtMost() / rivals::LeafLines::HalfSlots + 16;
    }

    static constexpr size_t PrefixBytes = 4; // "user"
    static uint64_t numberOf(const Key &key) { return strtoull(key.bytes + PrefixBytes, nullptr, 10); }
    static Key keyOfNumber(uint64_t number) {
        std::string text = "user" + std::to_string(number);
        Key key{};
        memcpy(key.bytes, text.data(), text.size());
        return key;
    }

    Engine &engine;
    Map map;
};

template <class Engine> using Leaves = RivalKv<Engine, LeafStore>;

} // namespace workloads
