/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of libstdc++ that are not templates and write to containers: the nodes of std::list and the growth of hash
 * tables. Names are mangled, because the pass knows functions by these names only.
 */
#include <stdbool.h>
#include <wchar.h>

#include "libc/libc_wrap.h"

struct list_node {
    struct list_node *next, *previous;
};

#define HOOK _ZNSt8__detail15_List_node_base7_M_hookEPS0_
#define UNHOOK _ZNSt8__detail15_List_node_base9_M_unhookEv
#define TRANSFER _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_
#define REVERSE _ZNSt8__detail15_List_node_base10_M_reverseEv
#define SWAP _ZNSt8__detail15_List_node_base4swapERS0_S1_
#define EXPANDED(name) WRAP(name)

static void announce_ends(const struct list_node *node) {
    OUT(node);
    OUT(node->next);
    OUT(node->previous);
}

#define LIST_WRAPPER(name, parameters, arguments, announce)                                                            \
    void name parameters;                                                                                              \
    void EXPANDED(name) parameters;                                                                                    \
    void EXPANDED(name) parameters {                                                                                   \
        announce;                                                                                                      \
        name arguments;                                                                                                \
    }

LIST_WRAPPER(HOOK, (struct list_node * node, struct list_node *position), (node, position), OUT(node);
             announce_ends(position))
LIST_WRAPPER(UNHOOK, (struct list_node * node), (node), announce_ends(node))
LIST_WRAPPER(TRANSFER, (struct list_node * position, struct list_node *first, struct list_node *last),
             (position, first, last), announce_ends(position);
             announce_ends(first); announce_ends(last))
LIST_WRAPPER(SWAP, (struct list_node * a, struct list_node *b), (a, b), announce_ends(a); announce_ends(b))

static void announce_list(const struct list_node *list) {
    const struct list_node *node = list;
    do {
        OUT(node);
        node = node->next;
    } while (node != list);
}
LIST_WRAPPER(REVERSE, (struct list_node * list), (list), announce_list(list))

/* std::__detail::_Prime_rehash_policy consists of two words. These const functions set one of them. */
#define NEXT_BUCKET _ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm
#define NEED_REHASH _ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm

struct rehash {
    bool needed;
    size_t buckets;
};

size_t NEXT_BUCKET(void *policy, size_t count);
size_t EXPANDED(NEXT_BUCKET)(void *policy, size_t count);
size_t EXPANDED(NEXT_BUCKET)(void *policy, size_t count) {
    writes(policy, 16);
    return NEXT_BUCKET(policy, count);
}

struct rehash NEED_REHASH(void *policy, size_t buckets, size_t elements, size_t more);
struct rehash EXPANDED(NEED_REHASH)(void *policy, size_t buckets, size_t elements, size_t more);
struct rehash EXPANDED(NEED_REHASH)(void *policy, size_t buckets, size_t elements, size_t more) {
    writes(policy, 16);
    return NEED_REHASH(policy, buckets, elements, more);
}
