// SPDX-License-Identifier: BSD-3-Clause
//
// The workload list: a singly linked list. Insert at the tail, sum all nodes, delete at the head; each insertion and
// each deletion is one transaction that also counts itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "driver.hpp"
#include "live_range.hpp"
#include "options.hpp"
#include "report.hpp"

namespace workloads {

struct ListOptions : Options {
    uint64_t nodes = 15625; // 1M / 64, the scale of the checked-in experiments
    uint64_t passes = 100;

    std::vector<Flag> flags() {
        return {
            {"nodes", "N", "inserted and deleted (default 15625)",
             [this](const char *text) { nodes = number("nodes", text, 1, Many); }},
            {"passes", "N", "over all nodes in the phase traverse (default 100)",
             [this](const char *text) { passes = number("passes", text, 0, Many); }},
        };
    }
};

template <class Engine> class LinkedList {
  public:
    explicit LinkedList(Engine &engine) : engine(engine), root(engine.template root<Root>()) {}

    void insertTail(uint64_t value) {
        engine.transaction([&] {
            auto added = engine.template allocate<Node>(1);
            engine.fresh(added.get());
            added->value = value;
            added->next = nullptr;
            engine.writing(root);
            if (root->length == 0) {
                root->head = added;
            } else {
                engine.writing(&root->tail->next);
                root->tail->next = added;
            }
            root->tail = added;
            root->length++;
            root->commits++;
        });
    }

    void deleteHead() {
        engine.transaction([&] {
            auto gone = root->head;
            engine.writing(root);
            root->head = gone->next;
            root->length--;
            root->commits++;
            engine.release(gone, 1);
        });
    }

    template <class Visit> void forEach(Visit &&visit) const {
        for (const Node *node = root->length ? root->head.get() : nullptr; node; node = node->next.get())
            visit(node->value);
    }

    uint64_t length() const { return root->length; }
    uint64_t commits() const { return root->commits; }

  private:
    struct Node;
    using Ptr = typename Engine::template Ptr<Node>;
    struct Node {
        Ptr next;
        uint64_t value;
    };
    struct Root { // all fields that an operation changes lie in one line
        uint64_t commits;
        uint64_t length; // 0: head and tail are undefined
        Ptr head, tail;
    };

    Engine &engine;
    Root *root;
};

template <class Engine> class List {
  public:
    static constexpr const char *Name = "list";
    using Options = ListOptions;

    static size_t poolBytes(const Options &options) { return options.nodes * 64 + (8u << 20); }

    List(Engine &engine, const Options &options) : options(options), list(engine) {}

    void load() {}

    std::vector<Phase> phases() {
        return {{"insert", [this](Progress &progress) { insert(progress); }},
                {"traverse", [this](Progress &) { traverse(); }},
                {"delete", [this](Progress &progress) { empty(progress); }}};
    }

    void describe(Report &report) const {
        uint64_t checksum = list.length();
        list.forEach([&](uint64_t value) { checksum = splitmix64(checksum ^ value); });
        report.add("nodes", options.nodes).add("passes", options.passes);
        report.addHex("read_sum", sum).addHex("checksum", checksum);
    }

    bool complete() const { return list.length() == 0; }
    uint64_t commits() const { return list.commits(); }

    std::string difference() const {
        LiveRange expected(options.nodes, list.commits());
        uint64_t i = expected.begin;
        bool same = list.length() == expected.size();
        list.forEach([&](uint64_t value) { same = same && i < expected.end && value == itemValue(i++, options.seed); });
        return same && i == expected.end ? "" : "node " + std::to_string(i) + " is not what was inserted";
    }

  private:
    void insert(Progress &progress) {
        for (uint64_t i = 0; i < options.nodes; i++) {
            list.insertTail(itemValue(i, options.seed));
            progress.committed();
        }
    }

    void traverse() {
        for (uint64_t pass = 0; pass < options.passes; pass++)
            list.forEach([&](uint64_t value) { sum += value; });
    }

    void empty(Progress &progress) {
        for (uint64_t i = 0; i < options.nodes; i++) {
            list.deleteHead();
            progress.committed();
        }
    }

    Options options;
    LinkedList<Engine> list;
    uint64_t sum = 0; // sum of the values read: keeps the reads alive, and must agree between engines
};

} // namespace workloads
