// SPDX-License-Identifier: BSD-3-Clause
//
// A B-tree of order 8 (Cormen et al., minimum degree 4): up to 7 items and 8 children per node, keys and values of 8
// bytes. A change makes one pass from the root: insert() splits full nodes on the way down and erase() fills nodes of 3
// items, so that no change has to go back up. Each change is one transaction that also counts itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace workloads {

struct Item {
    uint64_t key, value;
};

template <class Engine> class BtreeMap {
  public:
    static constexpr uint32_t Degree = 4, ItemsMax = 2 * Degree - 1;

    explicit BtreeMap(Engine &engine) : engine(engine), root(engine.template root<Root>()) {}

    uint64_t commits() const { return root->commits; }
    uint64_t size() const { return root->size; }

    // nullptr if the key does not exist.
    const uint64_t *find(uint64_t key) const {
        if (root->size == 0)
            return nullptr;
        for (const Node *node = root->top.get();;) {
            uint32_t at = node->place(key);
            if (node->has(at, key))
                return &node->items[at].value;
            if (node->leaf)
                return nullptr;
            node = node->children[at].get();
        }
    }

    // Replaces the value of an existing key.
    void insert(uint64_t key, uint64_t value) {
        engine.transaction([&] {
            engine.writing(root);
            if (root->size == 0)
                root->top = create(true);
            else if (root->top->count == ItemsMax)
                growUp();
            root->size += insertBelow(root->top.get(), {key, value});
            root->commits++;
        });
    }

    // False if the key does not exist; no commit is counted then.
    bool erase(uint64_t key) {
        uint64_t erased = 0;
        if (root->size == 0)
            return false;
        engine.transaction([&] {
            engine.writing(root);
            erased = eraseBelow(root->top.get(), key);
            root->size -= erased;
            root->commits += erased;
            shrinkDown();
        });
        return erased;
    }

    // Visits all items depth first, in key order.
    template <class Visit> void forEach(Visit &&visit) const {
        if (root->size)
            walk(root->top.get(), visit);
    }

  private:
    struct Node;
    using Ptr = typename Engine::template Ptr<Node>;

    struct Node {
        uint32_t count, leaf;
        Item items[ItemsMax];
        Ptr children[ItemsMax + 1];

        // Index of the first item that is not below `key`; `count` if there is no such item.
        uint32_t place(uint64_t key) const {
            uint32_t at = 0;
            while (at < count && items[at].key < key)
                at++;
            return at;
        }
        bool has(uint32_t at, uint64_t key) const { return at < count && items[at].key == key; }

        void openItem(uint32_t at) { memmove(items + at + 1, items + at, (count - at) * sizeof(Item)); }
        void closeItem(uint32_t at) { memmove(items + at, items + at + 1, (count - at - 1) * sizeof(Item)); }
        void openChild(uint32_t at) {
            for (uint32_t i = count + 1; i > at; i--)
                children[i] = children[i - 1];
        }
        void closeChild(uint32_t at) {
            for (uint32_t i = at; i < count; i++)
                children[i] = children[i + 1];
        }
    };

    struct Root { // all fields that an operation changes lie in one line
        uint64_t commits;
        uint64_t size; // 0: there are no nodes
        Ptr top;
    };

    Ptr create(bool leaf) {
        Ptr made = engine.template allocate<Node>(1);
        engine.fresh(made.get());
        made->count = 0;
        made->leaf = leaf;
        return made;
    }

    // A change of items only announces the node up to the last changed item, in one piece.
    void writingItems(Node *node, uint32_t items) {
        engine.writing(reinterpret_cast<char *>(node), offsetof(Node, items) + items * sizeof(Item));
    }

    // ---- Insertion ----

    void growUp() {
        Ptr top = create(false);
        top->children[0] = root->top;
        root->top = top;
        split(top.get(), 0);
    }

    // Splits the full child `at`: its upper half becomes the next child, and its middle item moves up.
    void split(Node *parent, uint32_t at) {
        Node *child = parent->children[at].get();
        Ptr added = create(child->leaf);
        Node *sibling = added.get();
        memcpy(sibling->items, child->items + Degree, (Degree - 1) * sizeof(Item));
        for (uint32_t i = 0; !child->leaf && i < Degree; i++)
            sibling->children[i] = child->children[Degree + i];
        sibling->count = Degree - 1;
        engine.writing(&child->count);
        child->count = Degree - 1;
        engine.writing(parent);
        parent->openItem(at);
        parent->openChild(at + 1);
        parent->items[at] = child->items[Degree - 1];
        parent->children[at + 1] = added;
        parent->count++;
    }

    // Returns the number of added items: 0 or 1. `node` must not be full.
    uint64_t insertBelow(Node *node, const Item &item) {
        for (;;) {
            uint32_t at = node->place(item.key);
            if (node->has(at, item.key)) {
                engine.writing(&node->items[at].value);
                node->items[at].value = item.value;
                return 0;
            }
            if (node->leaf) {
                writingItems(node, node->count + 1);
                node->openItem(at);
                node->items[at] = item;
                node->count++;
                return 1;
            }
            if (node->children[at]->count == ItemsMax)
                split(node, at); // look again: `node` now has one more item
            else
                node = node->children[at].get();
        }
    }

    // ---- Deletion ----

    // Returns the number of removed items: 0 or 1. `node` must have at least Degree items or be the top.
    uint64_t eraseBelow(Node *node, uint64_t key) {
        for (;;) {
            uint32_t at = node->place(key);
            bool here = node->has(at, key);
            if (node->leaf) {
                if (!here)
                    return 0;
                writingItems(node, node->count);
                node->closeItem(at);
                node->count--;
                return 1;
            }
            if (!here) {
                node = node->children[fill(node, at)].get();
                continue;
            }
            // An item between children is replaced by its neighbour in one of them, and the neighbour is then deleted
            // there.
            Node *left = node->children[at].get(), *right = node->children[at + 1].get();
            if (left->count < Degree && right->count < Degree) {
                merge(node, at);
                node = left;
                continue;
            }
            bool below = left->count >= Degree;
            engine.writing(&node->items[at]);
            node->items[at] = below ? last(left) : first(right);
            key = node->items[at].key;
            node = below ? left : right;
        }
    }

    static const Item &first(const Node *node) {
        while (!node->leaf)
            node = node->children[0].get();
        return node->items[0];
    }

    static const Item &last(const Node *node) {
        while (!node->leaf)
            node = node->children[node->count].get();
        return node->items[node->count - 1];
    }

    // Gives child `at` at least Degree items, from a sibling or by merging with one. Returns the index of the child
    // afterwards.
    uint32_t fill(Node *parent, uint32_t at) {
        if (parent->children[at]->count >= Degree)
            return at;
        if (at > 0 && parent->children[at - 1]->count >= Degree)
            return borrowBefore(parent, at), at;
        if (at < parent->count && parent->children[at + 1]->count >= Degree)
            return borrowAfter(parent, at), at;
        uint32_t left = at < parent->count ? at : at - 1;
        merge(parent, left);
        return left;
    }

    void borrowBefore(Node *parent, uint32_t at) {
        Node *child = parent->children[at].get(), *before = parent->children[at - 1].get();
        engine.writing(child);
        child->openItem(0);
        child->items[0] = parent->items[at - 1];
        if (!child->leaf) {
            child->openChild(0);
            child->children[0] = before->children[before->count];
        }
        child->count++;
        engine.writing(&parent->items[at - 1]);
        parent->items[at - 1] = before->items[before->count - 1];
        engine.writing(&before->count);
        before->count--;
    }

    void borrowAfter(Node *parent, uint32_t at) {
        Node *child = parent->children[at].get(), *after = parent->children[at + 1].get();
        engine.writing(child);
        child->items[child->count] = parent->items[at];
        if (!child->leaf)
            child->children[child->count + 1] = after->children[0];
        child->count++;
        engine.writing(&parent->items[at]);
        parent->items[at] = after->items[0];
        engine.writing(after);
        after->closeItem(0);
        if (!after->leaf)
            after->closeChild(0);
        after->count--;
    }

    // Merges child `at`, the item after it and the next child into one node.
    void merge(Node *parent, uint32_t at) {
        Ptr gone = parent->children[at + 1];
        Node *left = parent->children[at].get(), *right = gone.get();
        engine.writing(left);
        left->items[left->count] = parent->items[at];
        memcpy(left->items + left->count + 1, right->items, right->count * sizeof(Item));
        for (uint32_t i = 0; !left->leaf && i <= right->count; i++)
            left->children[left->count + 1 + i] = right->children[i];
        left->count += 1 + right->count;
        engine.writing(parent);
        parent->closeItem(at);
        parent->closeChild(at + 1);
        parent->count--;
        engine.release(gone, 1);
    }

    void shrinkDown() {
        Ptr top = root->top;
        if (top->count > 0)
            return;
        if (!top->leaf)
            root->top = top->children[0];
        engine.release(top, 1);
    }

    template <class Visit> static void walk(const Node *node, Visit &visit) {
        for (uint32_t i = 0; i <= node->count; i++) {
            if (!node->leaf)
                walk(node->children[i].get(), visit);
            if (i < node->count)
                visit(node->items[i]);
        }
    }

    Engine &engine;
    Root *root;
};

} // namespace workloads
