/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One of the maps that PMDK ships as examples, unchanged; only the driver of its operations is ours.
 *
 *     pmdk_map make MAP FILE           a pool with a map of the first keys
 *     pmdk_map run MAP FILE            inserts further keys and removes some; mark n is passed before the n-th of these
 *     pmdk_map check MAP FILE MARK     the map has the keys that it has after so many of them, or after one more
 */
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "map.h"
#include "map_btree.h"
#include "map_hashmap_atomic.h"
#include "map_hashmap_rp.h"
#include "map_hashmap_tx.h"
#include "map_rbtree.h"
#include "map_skiplist.h"

#include "testbed_roi.h"

enum { FIRST_KEYS = 12, INSERTED = 4, REMOVED = 7, OPERATIONS = INSERTED + REMOVED };

POBJ_LAYOUT_BEGIN(pmdk_map);
POBJ_LAYOUT_ROOT(pmdk_map, struct root);
POBJ_LAYOUT_END(pmdk_map);

struct root {
    TOID(struct map) map;
};

static struct map_ctx *context;

static TOID(struct map) * map_of(PMEMobjpool *pool) {
    return &((struct root *)pmemobj_direct(pmemobj_root(pool, sizeof(struct root))))->map;
}

static const struct map_ops *operations_of(const char *name) {
    const struct {
        const char *name;
        const struct map_ops *operations;
    } maps[] = {
        {"btree", MAP_BTREE},           {"hashmap_atomic", MAP_HASHMAP_ATOMIC},
        {"hashmap_rp", MAP_HASHMAP_RP}, {"hashmap_tx", MAP_HASHMAP_TX},
        {"rbtree", MAP_RBTREE},         {"skiplist", MAP_SKIPLIST},
    };

    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        if (!strcmp(name, maps[i].name))
            return maps[i].operations;
    fprintf(stderr, "pmdk_map: there is no map %s\n", name);
    exit(2);
}

/* Maps keep values and do not look into them. Neighbours are far apart in a map. */
static uint64_t key_of(int number) { return (uint64_t)number * 7 % (FIRST_KEYS + INSERTED) + 1; }
static PMEMoid value_of(int number) { return (PMEMoid){1, (uint64_t)number + 1}; }

static void insert(TOID(struct map) map, int number) {
    if (map_insert(context, map, key_of(number), value_of(number))) {
        fprintf(stderr, "pmdk_map: insert: %s\n", pmemobj_errormsg());
        exit(2);
    }
}

static void make(PMEMobjpool *pool) {
    TOID(struct map) *map = map_of(pool);

    srand(0); /* as PMDK's mapcli does: recovery of a hash map draws its function again, by the seed that it keeps */
    if (map_create(context, map, NULL)) {
        fprintf(stderr, "pmdk_map: create: %s\n", pmemobj_errormsg());
        exit(2);
    }
    for (int number = 0; number < FIRST_KEYS; number++)
        insert(*map, number);
}

static void run(TOID(struct map) map) {
    for (int done = 0; done < OPERATIONS; done++) {
        testbed_mark((uint32_t)done);
        if (done < INSERTED)
            insert(map, FIRST_KEYS + done);
        else
            map_remove(context, map, key_of(done - INSERTED));
    }
    testbed_mark(OPERATIONS);
}

static int is_there(int number, int done) {
    int removed = done - INSERTED, keys = FIRST_KEYS + (removed < 0 ? done : INSERTED);

    return number >= (removed > 0 ? removed : 0) && number < keys;
}

static int count_key(uint64_t key, PMEMoid value, void *count) {
    (void)key;
    (void)value;
    ++*(int *)count;
    return 0;
}

/* The fault of the map after so many operations; NULL if it is sound. */
static const char *fault(TOID(struct map) map, int done) {
    int expected = 0, met = 0;

    for (int number = 0; number < FIRST_KEYS + INSERTED; number++) {
        PMEMoid found = map_get(context, map, key_of(number));
        if (!is_there(number, done)) {
            if (map_lookup(context, map, key_of(number)))
                return "a key is there that was not inserted, or was removed";
            continue;
        }
        expected++;
        if (OID_IS_NULL(found))
            return "a key is missing";
        if (!OID_EQUALS(found, value_of(number)))
            return "a key has another value";
    }
    map_foreach(context, map, count_key, &met);
    if (met != expected)
        return "a walk meets another number of keys than look-ups";
    if (context->ops->count && map_count(context, map) != (size_t)expected)
        return "it counts another number of keys than it has";
    return NULL;
}

static int check(TOID(struct map) map, int mark) {
    const char *before, *after;

    map_init(context, map); /* where a map has a recovery of its own */
    before = fault(map, mark);
    after = mark < OPERATIONS ? fault(map, mark + 1) : before;
    if (!before || !after)
        return 0;
    fprintf(stderr, "after %d operations %s; after one more %s\n", mark, before, after);
    return 1;
}

int main(int argc, char **argv) {
    const char *verb = argc > 3 ? argv[1] : "";
    int making = !strcmp(verb, "make"), status = 0;
    PMEMobjpool *pool;

    if (argc != (!strcmp(verb, "check") ? 5 : 4)) {
        fprintf(stderr, "usage: pmdk_map make|run MAP FILE | check MAP FILE MARK\n");
        return 2;
    }
    pool = making ? pmemobj_create(argv[3], POBJ_LAYOUT_NAME(pmdk_map), PMEMOBJ_MIN_POOL, 0644)
                  : pmemobj_open(argv[3], POBJ_LAYOUT_NAME(pmdk_map));
    if (!pool) {
        fprintf(stderr, "pmdk_map: %s: %s\n", argv[3], pmemobj_errormsg());
        return 1;
    }
    context = map_ctx_init(operations_of(argv[2]), pool);
    if (making)
        make(pool);
    else if (argc == 5)
        status = check(*map_of(pool), atoi(argv[4]));
    else
        run(*map_of(pool));
    map_ctx_free(context);
    pmemobj_close(pool);
    return status;
}
