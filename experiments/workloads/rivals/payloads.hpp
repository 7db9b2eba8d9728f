// SPDX-License-Identifier: BSD-3-Clause
//
// The workload payloads: the requests of kv on a map of payloads.
#pragma once

#include "lines_file.hpp"
#include "payload_map.hpp"
#include "rival_kv.hpp"

namespace workloads {

template <class Engine> class PayloadStore {
  public:
    static constexpr const char *Name = "payloads";

    static size_t bytes(const RivalOptions &options) { return linesFor(options) * sizeof(rivals::Payload); }

    PayloadStore(Engine &engine, const RivalOptions &options)
        : engine(engine), map(engine.words(), linesFor(options), BufferedMax) {}

    std::optional<FoundValue> find(const Key &key) const { return foundValue(map.find(textIn(key))); }
    bool update(const Key &key, uint32_t value) { return map.update(textIn(key), value); }
    void insert(const Key &key, uint32_t value) { map.put(textIn(key), value); }

    void endEpoch() {
        map.endEpoch();
        engine.counted.data_bytes = map.linesWritten() * sizeof(rivals::Payload);
        engine.counted.fences = map.fences();
    }

    template <class Visit> void forEach(Visit &&visit) const {
        map.forEach([&](const std::string &text, uint64_t value) {
            Key key{};
            memcpy(key.bytes, text.data(), text.size());
            visit(key, static_cast<uint32_t>(value));
        });
    }

  private:
    static constexpr size_t BufferedMax = 64;

    // In the worst case all updates are of three epochs, so that no payload can be reused.
    static size_t linesFor(const RivalOptions &options) {
        return options.keysAtMost() + options.requests.operations + 16;
    }
    static std::string_view textIn(const Key &key) { return {key.bytes, key.length()}; }

    Engine &engine;
    rivals::PayloadMap map;
};

template <class Engine> using Payloads = RivalKv<Engine, PayloadStore>;

} // namespace workloads
