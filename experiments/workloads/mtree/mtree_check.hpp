// SPDX-License-Identifier: BSD-3-Clause
//
// Checks that a tree of mtree_map.hpp is intact, in tests and after a crash. No thread may change the tree meanwhile.
#pragma once

#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "mtree_map.hpp"

namespace workloads {

template <class Map> class MtreeCheck {
  public:
    explicit MtreeCheck(const Map &map) : map(map) {}

    // Returns an empty string, or a description of the problem.
    std::string problem() {
        try {
            if (map.root->version & mtree::version::Changing)
                throw std::runtime_error("the root is being changed");
            if (map.root->top)
                checkTree(map.root->top);
            if (keys != map.root->size)
                throw std::runtime_error(std::to_string(keys) + " keys instead of " + std::to_string(map.root->size));
            checkFree();
        } catch (const std::runtime_error &error) {
            return error.what();
        }
        return "";
    }

    uint64_t borders = 0, interiors = 0, layers = 0; // numbers of live nodes

  private:
    using Border = mtree::Border;
    using Interior = mtree::Interior;
    using Link = mtree::Link;
    using Node = mtree::Node;
    using Permutation = mtree::Permutation;
    // The slices that a node may have: at least `begin`, and below `end`.
    struct Range {
        uint64_t begin;
        std::optional<uint64_t> end;
    };

    void require(bool condition, const char *what) const {
        if (!condition)
            throw std::runtime_error(what);
    }

    void see(Link link) { require(link && seen.insert(link).second, "something has two places"); }

    void checkTree(Link top) {
        std::vector<const Border *> list;
        layers++;
        checkNode(top, {0, {}}, true, list);
        for (size_t i = 0; i < list.size(); i++) {
            Link previous = i > 0 ? map.linkTo(list[i - 1]) : 0;
            Link next = i + 1 < list.size() ? map.linkTo(list[i + 1]) : 0;
            require(list[i]->previous == previous && list[i]->next == next, "border nodes are not linked in order");
        }
        require(top == map.root->top || keysOf(*list[0]) > 0, "a layer is empty");
    }

    static uint32_t keysOf(const Border &border) { return Permutation(border.permutation).count(); }

    void checkNode(Link link, Range range, bool is_top, std::vector<const Border *> &list) {
        see(link);
        auto node = map.template at<Node>(link);
        require(!(node->version & (mtree::version::Changing | mtree::version::Deleted)),
                "a node is not as it should be");
        if (node->version & mtree::version::Border) {
            auto border = static_cast<const Border *>(node);
            list.push_back(border);
            require(is_top || keysOf(*border) > 0, "a border node is empty");
            return checkBorder(*border, range);
        }
        auto interior = static_cast<const Interior *>(node);
        interiors++;
        require(interior->count <= Interior::Slices, "an interior node has too many slices");
        require(!is_top || interior->count > 0, "a top has one child");
        for (uint32_t i = 0; i <= interior->count; i++) {
            Range of_child = range;
            if (i > 0)
                of_child.begin = interior->slices[i - 1];
            if (i < interior->count)
                of_child.end = interior->slices[i];
            require(of_child.begin >= range.begin && (!of_child.end || of_child.begin < *of_child.end) &&
                        (!range.end || (of_child.end && *of_child.end <= *range.end)),
                    "slices of an interior node are out of order");
            checkNode(interior->children[i], of_child, false, list);
        }
    }

    void checkBorder(const Border &border, Range range) {
        Permutation order(border.permutation);
        borders++;
        uint32_t slots = 0;
        for (uint32_t position = 0; position < Permutation::Slots; position++)
            slots |= 1u << order.at(position);
        require(slots == (1u << Permutation::Slots) - 1, "a permutation has a slot twice");
        for (uint32_t position = 0; position < order.count(); position++) {
            uint32_t slot = order.at(position);
            uint64_t slice = border.slices[slot];
            require(slice >= range.begin && (!range.end || slice < *range.end), "a key is in the wrong node");
            if (position > 0) {
                uint32_t before = order.at(position - 1);
                require(border.slices[before] < slice ||
                            (border.slices[before] == slice &&
                             mtree::rankOf(border.endings[before]) < mtree::rankOf(border.endings[slot])),
                        "keys are out of order");
            }
            checkSlot(border, slot);
        }
    }

    void checkSlot(const Border &border, uint32_t slot) {
        uint8_t ending = border.endings[slot];
        if (ending == mtree::Layer)
            return checkTree(border.links[slot]);
        require(ending <= mtree::Cursor::Behind, "a slot's key has no such end");
        see(border.links[slot]);
        auto record = map.template at<mtree::Record>(border.links[slot]);
        require((record->rest_bytes > 0) == (ending == mtree::Cursor::Behind),
                "a record has another key than its slot");
        uint64_t slice = border.slices[slot];
        require(ending >= sizeof(slice) || (ending == 0 ? slice : slice << (8 * ending)) == 0,
                "a slice goes on behind its end");
        keys++;
    }

    // Nodes and records that are kept for reuse must not be in use.
    void checkFree() {
        for (Link link = map.root->free_borders; link; link = map.template at<Border>(link)->next)
            checkFreeNode(link, mtree::version::Border);
        for (Link link = map.root->free_interiors; link; link = map.template at<Interior>(link)->children[0])
            checkFreeNode(link, 0);
        for (size_t number = 0; number < std::size(mtree::RecordSizes); number++)
            for (Link link = map.root->free_records[number]; link;) {
                see(link);
                auto record = map.template at<mtree::Record>(link);
                require(mtree::sizeNumberOf(mtree::Record::bytesOf(record->rest_bytes)) == number,
                        "a free record has another size");
                link = record->value;
            }
    }

    void checkFreeNode(Link link, uint64_t kind) {
        see(link);
        uint64_t version = map.template at<Node>(link)->version;
        require((version & mtree::version::Deleted) && (version & mtree::version::Border) == kind,
                "a free node is not marked so");
    }

    const Map &map;
    std::set<Link> seen;
    uint64_t keys = 0;
};

} // namespace workloads
