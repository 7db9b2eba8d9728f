// SPDX-License-Identifier: BSD-3-Clause
//
// Any sequence of changes: the tree is sound, has the same content as a map, and announced all its changes.
#include "announced_engine.hpp"
#include "mtree_model.hpp"

using Map = workloads::MtreeMap<AnnouncedEngine>;

// An operation: one byte for its kind and the length of the key, one for the repeated part, and the end of the key.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    AnnouncedEngine engine(1 << 20);
    Map map(engine);
    Model model;
    for (size_t i = 0; i + 3 <= size; i += 3) {
        std::string key(data[i] / 4, static_cast<char>(data[i + 1] % 4));
        key += static_cast<char>(data[i + 2]);
        bool is_there = model.count(key);
        if (data[i] % 4 < 2) {
            map.insert(key, i);
            model[key] = i;
        } else if (data[i] % 4 == 2 ? map.update(key, i) : map.erase(key)) {
            if (!is_there)
                __builtin_trap();
            if (data[i] % 4 == 2)
                model[key] = i;
            else
                model.erase(key);
        } else if (is_there) {
            __builtin_trap();
        }
    }
    if (!difference(map, model).empty())
        __builtin_trap();
    return 0;
}
