// SPDX-License-Identifier: BSD-3-Clause
//
// The reference of a tree, and keys that make trees of every shape: short and long ones, with common beginnings of any
// length, with zeros in them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "mtree_check.hpp"
#include "random.hpp"

using Model = std::map<std::string, uint64_t>;

inline std::string randomKey(workloads::Random &random) {
    static const std::string letters("ab\0\xff", 4);
    std::string key;
    switch (random.below(4)) {
    case 0: // few slices
        for (uint64_t i = random.below(20); i > 0; i--)
            key += letters[random.below(letters.size())];
        return key;
    case 1: // many slices in the first tree
        for (uint64_t i = 0, word = random.next(); i < 1 + random.below(8); i++)
            key += static_cast<char>(word >> (8 * i));
        return key;
    case 2: // long common beginnings
        return std::string(8 * random.below(5), 'c') + std::to_string(random.below(400));
    default: // tails of all sizes
        return "tail" + std::to_string(random.below(40)) + std::string(random.below(300), 'd');
    }
}

template <class Map>
std::vector<std::pair<std::string, uint64_t>> scanned(const Map &map, const std::string &from, uint64_t limit) {
    std::vector<std::pair<std::string, uint64_t>> found;
    map.scan(from, limit, [&](std::string_view key, uint64_t value) { found.emplace_back(key, value); });
    return found;
}

// Empty, or how the tree differs.
template <class Map> std::string difference(const Map &map, const Model &model) {
    std::string problem = workloads::MtreeCheck<Map>(map).problem();
    if (!problem.empty())
        return problem;
    auto all = scanned(map, "", ~uint64_t{0});
    if (map.size() != model.size() ||
        !std::equal(all.begin(), all.end(), model.begin(), model.end(),
                    [](auto &a, auto &b) { return a.first == b.first && a.second == b.second; }))
        return "a scan finds other keys or values";
    for (const auto &[key, value] : model)
        if (map.find(key) != value)
            return "a look-up finds another value";
    return "";
}
