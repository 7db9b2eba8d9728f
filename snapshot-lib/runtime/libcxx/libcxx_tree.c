/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * std::map and related containers: libstdc++ balances their red-black trees in two functions that are not templates.
 * Only the rebalancing itself shows which nodes it writes. So the functions are implemented here, with each change
 * announced. The header's parent is the root, its left the first node, its right the last.
 */
#include <stdbool.h>

#include "libc/libc_wrap.h"

enum color { RED = 0, BLACK = 1 };

struct node {
    enum color color;
    struct node *parent, *left, *right;
};

static void set(struct node **link, struct node *value) {
    OUT(link);
    *link = value;
}

static void paint(struct node *node, enum color color) {
    OUT(&node->color);
    node->color = color;
}

static bool is_black(const struct node *node) { return !node || node->color == BLACK; }

/* The link that points to the node. */
static struct node **link_to(struct node *node, struct node *header) {
    if (node == header->parent)
        return &header->parent;
    return node == node->parent->left ? &node->parent->left : &node->parent->right;
}

/* The child on the other side takes the node's place; the node moves down to the given side. */
static void rotate(struct node *node, bool to_left, struct node *header) {
    struct node *child = to_left ? node->right : node->left;
    struct node *inner = to_left ? child->left : child->right;
    set(to_left ? &node->right : &node->left, inner);
    if (inner)
        set(&inner->parent, node);
    set(link_to(node, header), child);
    set(&child->parent, node->parent);
    set(to_left ? &child->left : &child->right, node);
    set(&node->parent, child);
}

static void insert_link(bool left, struct node *node, struct node *parent, struct node *header) {
    writes(node, sizeof(*node));
    *node = (struct node){.color = RED, .parent = parent};
    if (left) {
        set(&parent->left, node); /* in an empty tree this sets the header's left */
        if (parent == header) {
            set(&header->parent, node);
            set(&header->right, node);
        } else if (parent == header->left) {
            set(&header->left, node);
        }
    } else {
        set(&parent->right, node);
        if (parent == header->right)
            set(&header->right, node);
    }
}

void __snapshot_libc__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(bool left, struct node *node,
                                                                                       struct node *parent,
                                                                                       struct node *header);
void __snapshot_libc__ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(bool left, struct node *node,
                                                                                       struct node *parent,
                                                                                       struct node *header) {
    insert_link(left, node, parent, header);
    while (node != header->parent && node->parent->color == RED) {
        struct node *grandparent = node->parent->parent;
        bool on_left = node->parent == grandparent->left;
        struct node *uncle = on_left ? grandparent->right : grandparent->left;
        if (!is_black(uncle)) {
            paint(node->parent, BLACK);
            paint(uncle, BLACK);
            paint(grandparent, RED);
            node = grandparent;
            continue;
        }
        if (node == (on_left ? node->parent->right : node->parent->left)) {
            node = node->parent;
            rotate(node, on_left, header);
        }
        paint(node->parent, BLACK);
        paint(grandparent, RED);
        rotate(grandparent, !on_left, header);
    }
    paint(header->parent, BLACK);
}

static struct node *first_below(struct node *node) {
    while (node->left)
        node = node->left;
    return node;
}

static struct node *last_below(struct node *node) {
    while (node->right)
        node = node->right;
    return node;
}

/* The node has two children: its successor takes its place and colour. */
static void replace_by_successor(struct node *node, struct node *successor, struct node *header) {
    set(link_to(node, header), successor);
    set(&node->left->parent, successor);
    set(&successor->left, node->left);
    if (successor != node->right) {
        set(&successor->right, node->right);
        set(&node->right->parent, successor);
    }
    set(&successor->parent, node->parent);
    enum color color = successor->color;
    paint(successor, node->color);
    paint(node, color);
}

/* The paths through `node`, which may be null, lack one black node. */
static void restore_black(struct node *node, struct node *parent, struct node *header) {
    while (node != header->parent && is_black(node)) {
        bool on_left = node == parent->left;
        struct node *sibling = on_left ? parent->right : parent->left;
        if (sibling->color == RED) {
            paint(sibling, BLACK);
            paint(parent, RED);
            rotate(parent, on_left, header);
            sibling = on_left ? parent->right : parent->left;
        }
        if (is_black(sibling->left) && is_black(sibling->right)) {
            paint(sibling, RED);
            node = parent;
            parent = parent->parent;
            continue;
        }
        if (is_black(on_left ? sibling->right : sibling->left)) {
            paint(on_left ? sibling->left : sibling->right, BLACK);
            paint(sibling, RED);
            rotate(sibling, !on_left, header);
            sibling = on_left ? parent->right : parent->left;
        }
        paint(sibling, parent->color);
        paint(parent, BLACK);
        paint(on_left ? sibling->right : sibling->left, BLACK);
        rotate(parent, on_left, header);
        break;
    }
    if (node)
        paint(node, BLACK);
}

/* Removes the node from the tree. Returns the subtree in the old place of the node or of its successor, and the
 * parent of that place. */
static struct node *unlink_node(struct node *node, struct node *header, struct node **parent) {
    if (node->left && node->right) {
        struct node *successor = first_below(node->right), *below = successor->right;
        *parent = successor == node->right ? successor : successor->parent;
        if (successor != node->right) {
            set(&successor->parent->left, below);
            if (below)
                set(&below->parent, successor->parent);
        }
        replace_by_successor(node, successor, header);
        return below;
    }
    struct node *below = node->left ? node->left : node->right;
    *parent = node->parent;
    struct node **link = link_to(node, header);
    if (header->left == node)
        set(&header->left, below ? first_below(below) : node->parent);
    if (header->right == node)
        set(&header->right, below ? last_below(below) : node->parent);
    set(link, below);
    if (below)
        set(&below->parent, node->parent);
    return below;
}

struct node *__snapshot_libc__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(struct node *node,
                                                                                          struct node *header);
struct node *__snapshot_libc__ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(struct node *node,
                                                                                          struct node *header) {
    struct node *parent;
    struct node *below = unlink_node(node, header, &parent);
    if (node->color == BLACK)
        restore_black(below, parent, header);
    return node;
}
