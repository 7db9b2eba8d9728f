// SPDX-License-Identifier: BSD-3-Clause
#include "oracle.hpp"

#include <algorithm>
#include <utility>

Snapshot snapshotOf(Mounted &mounted) { return {mounted.tree(), mounted.freeBlocks()}; }

static bool writesInPlace(const Operation &operation, enum tbfs_data data) {
    return (operation.kind == Operation::Write && data == TBFS_DATA_INPLACE) ||
           (operation.kind == Operation::Fallocate && operation.flags & TBFS_PUNCH_HOLE);
}

Oracle::Oracle(Snapshot before_it, std::vector<Snapshot> between, Snapshot after_it, const Operation &operation,
               enum tbfs_data data)
    : before(std::move(before_it)), after(std::move(after_it)), steps(std::move(between)) {
    auto file = before.tree.find(operation.path);
    if (file != before.tree.end() && writesInPlace(operation, data))
        mixed = file->second.ino;
}

static Node withContentOf(const Node &node, const Node &other) {
    Node result = node;
    result.content = other.content;
    return result;
}

// A new size is visible only together with all data that it makes visible.
bool Oracle::isMixture(const Node &found, const std::string &path) const {
    const Node &old = before.tree.at(path), &young = after.tree.at(path);
    bool is_old = found.content.size() == old.content.size() && withContentOf(found, old) == old;
    bool is_young = found.content.size() == young.content.size() && withContentOf(found, young) == young;
    if (!is_old && !is_young)
        return false;
    if (!is_old && old.content.size() != young.content.size())
        return found.content == young.content;
    for (size_t i = 0; i < found.content.size(); i++)
        if (found.content[i] != old.content[i] && found.content[i] != young.content[i])
            return false;
    return true;
}

bool Oracle::isLike(const Snapshot &found, const Snapshot &expected) const {
    return found.tree == expected.tree &&
           (found.free_blocks == expected.free_blocks || (merges_first && found.free_blocks > expected.free_blocks));
}

std::optional<std::string> Oracle::judge(const Snapshot &found, bool has_returned) const {
    if (found == after)
        return std::nullopt;
    if (has_returned && found.tree == after.tree)
        return "blocks are lost after it";
    if (has_returned)
        return "it has returned, and " + describe(found.tree, after.tree);
    if (std::any_of(steps.begin(), steps.end(), [&](const Snapshot &step) { return isLike(found, step); }))
        return std::nullopt;
    Tree tree = found.tree;
    for (auto &[path, node] : tree)
        if (mixed && node.ino == mixed && before.tree.contains(path) && isMixture(node, path))
            node = before.tree.at(path);
    if (!(tree == before.tree))
        return "neither before (" + describe(tree, before.tree) + ") nor after (" + describe(tree, after.tree) + ")";
    bool is_possible = isLike({tree, found.free_blocks}, before) || (mixed && found.free_blocks == after.free_blocks);
    return is_possible ? std::nullopt : std::optional("blocks are lost");
}
