// SPDX-License-Identifier: BSD-3-Clause
#include "pmdk_structures.hpp"

#include <libpmemobj.h>
#include <unistd.h>

#include <stdexcept>

#include "map.h"
#include "map_btree.h"
#include "map_hashmap_tx.h"
#include "pmemobj_list.h"

POBJ_LAYOUT_BEGIN(pmdk_examples);
POBJ_LAYOUT_ROOT(pmdk_examples, struct example_root);
POBJ_LAYOUT_TOID(pmdk_examples, struct example_item);
POBJ_LAYOUT_TOID(pmdk_examples, struct example_node);
POBJ_LAYOUT_END(pmdk_examples);

struct example_item {
    uint64_t value;
};

struct example_node {
    uint64_t value;
    POBJ_TAILQ_ENTRY(struct example_node) link;
};

POBJ_TAILQ_HEAD(example_list, struct example_node);

struct example_root {
    TOID(struct map) map;
    struct example_list list;
};

namespace programs {

[[noreturn]] static void fail(const std::string &what) { throw std::runtime_error(what + ": " + pmemobj_errormsg()); }

class Pool {
  public:
    Pool(const std::string &path, size_t bytes) {
        unlink(path.c_str());
        pool = pmemobj_create(path.c_str(), POBJ_LAYOUT_NAME(pmdk_examples), bytes, 0644);
        if (!pool)
            fail("cannot create " + path);
    }
    ~Pool() { pmemobj_close(pool); }
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;
    example_root *root() {
        return static_cast<example_root *>(pmemobj_direct(pmemobj_root(pool, sizeof(example_root))));
    }

    PMEMobjpool *pool;
};

static int addValue(uint64_t, PMEMoid item, void *sum) {
    *static_cast<uint64_t *>(sum) += static_cast<example_item *>(pmemobj_direct(item))->value;
    return 0;
}

class Map : public Structure {
  public:
    Map(const std::string &path, size_t bytes, const map_ops *operations) : pool(path, bytes) {
        context = map_ctx_init(operations, pool.pool);
        if (!context || map_create(context, &pool.root()->map, nullptr) != 0)
            fail("cannot create the map");
        map = pool.root()->map;
    }
    ~Map() override { map_ctx_free(context); }

    void insert(uint64_t key, uint64_t value) override {
        volatile bool inserted = false;
        TX_BEGIN(pool.pool) {
            TOID(struct example_item) item = TX_NEW(struct example_item);
            D_RW(item)->value = value;
            inserted = map_insert(context, map, key, item.oid) == 0;
        }
        TX_ONABORT { inserted = false; }
        TX_END
        if (!inserted)
            fail("map_insert");
    }

    uint64_t read(uint64_t key) override {
        PMEMoid item = map_get(context, map, key);
        if (OID_IS_NULL(item))
            throw std::runtime_error("a key is missing");
        return static_cast<example_item *>(pmemobj_direct(item))->value;
    }

    uint64_t traverse() override {
        uint64_t sum = 0;
        map_foreach(context, map, addValue, &sum);
        return sum;
    }

    void erase(uint64_t key) override {
        volatile bool removed = false;
        TX_BEGIN(pool.pool) {
            PMEMoid item = map_remove(context, map, key);
            removed = !OID_IS_NULL(item);
            if (removed)
                pmemobj_tx_free(item);
        }
        TX_ONABORT { removed = false; }
        TX_END
        if (!removed)
            fail("map_remove");
    }

  private:
    Pool pool;
    map_ctx *context;
    TOID(struct map) map;
};

class List : public Structure {
  public:
    List(const std::string &path, size_t bytes) : pool(path, bytes), list(&pool.root()->list) {}

    void insert(uint64_t, uint64_t value) override {
        volatile bool inserted = true;
        TX_BEGIN(pool.pool) {
            TOID(struct example_node) node = TX_NEW(struct example_node);
            D_RW(node)->value = value;
            POBJ_TAILQ_INSERT_TAIL(list, node, link);
        }
        TX_ONABORT { inserted = false; }
        TX_END
        if (!inserted)
            fail("POBJ_TAILQ_INSERT_TAIL");
    }

    uint64_t read(uint64_t) override { throw std::invalid_argument("a list has no keys to read by"); }

    uint64_t traverse() override {
        uint64_t sum = 0;
        TOID(struct example_node) node;
        POBJ_TAILQ_FOREACH(node, list, link)
        sum += D_RO(node)->value;
        return sum;
    }

    void erase(uint64_t) override {
        volatile bool removed = !POBJ_TAILQ_EMPTY(list);
        if (!removed)
            throw std::runtime_error("the list is empty");
        TX_BEGIN(pool.pool) {
            TOID(struct example_node) node = POBJ_TAILQ_FIRST(list);
            POBJ_TAILQ_REMOVE_FREE(list, node, link);
        }
        TX_ONABORT { removed = false; }
        TX_END
        if (!removed)
            fail("POBJ_TAILQ_REMOVE_FREE");
    }

  private:
    Pool pool;
    example_list *list;
};

std::unique_ptr<Structure> makeStructure(const std::string &kind, const std::string &path, size_t bytes) {
    if (kind == "btree")
        return std::make_unique<Map>(path, bytes, MAP_BTREE);
    if (kind == "hashmap")
        return std::make_unique<Map>(path, bytes, MAP_HASHMAP_TX);
    if (kind == "list")
        return std::make_unique<List>(path, bytes);
    throw std::invalid_argument("--structure must be btree, hashmap or list, not '" + kind + "'");
}

} // namespace programs
