/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * records.c with PMDK, three times: by libpmem, by libpmemobj's pmemobj_persist(), and by its transactions.
 *
 *     pmdk make FOLDER
 *     pmdk append FOLDER [no-persist]   appends two to each, with a mark after each; no-persist: it leaves out the
 *                                       pmem_persist(), pmemobj_persist() or pmemobj_tx_add_range_direct() of a record
 *     pmdk check FOLDER MARK            fails if a record that was acknowledged is missing, or one is not whole
 */
#include <libpmem.h>
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "testbed_roi.h"

enum { RECORDS = 2, RECORD_BYTES = 64 };

struct file {
    _Alignas(RECORD_BYTES) volatile uint64_t count;
    struct {
        _Alignas(RECORD_BYTES) volatile uint64_t value;
    } records[RECORDS];
};

static int without_persist;
static PMEMobjpool *pools[3]; /* none of the first */
static struct file *files[3];

static uint64_t value_of(uint64_t number) { return 0x1000 + number; }

static void append_with_pmem(struct file *file, uint64_t number) {
    file->records[number].value = value_of(number);
    if (!without_persist)
        pmem_persist((void *)&file->records[number], RECORD_BYTES);
    file->count = number + 1;
    pmem_persist((void *)&file->count, sizeof(file->count));
}

static void append_with_pmemobj(struct file *file, uint64_t number) {
    file->records[number].value = value_of(number);
    if (!without_persist)
        pmemobj_persist(pools[1], (void *)&file->records[number], RECORD_BYTES);
    file->count = number + 1;
    pmemobj_persist(pools[1], (void *)&file->count, sizeof(file->count));
}

static void append_in_a_transaction(struct file *file, uint64_t number) {
    TX_BEGIN(pools[2]) {
        pmemobj_tx_add_range_direct((void *)&file->count, sizeof(file->count));
        if (!without_persist)
            pmemobj_tx_add_range_direct((void *)&file->records[number], RECORD_BYTES);
        file->records[number].value = value_of(number);
        file->count = number + 1;
    }
    TX_END
}

static const struct {
    const char *name;
    void (*append)(struct file *file, uint64_t number);
} ways[] = {
    {"libpmem", append_with_pmem},
    {"libpmemobj", append_with_pmemobj},
    {"transaction", append_in_a_transaction},
};

enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static void need(const void *there, const char *what) {
    if (there)
        return;
    fprintf(stderr, "%s: %s\n", what, pmemobj_errormsg());
    exit(2);
}

static void map(const char *folder, int is_new) {
    for (int way = 0; way < WAYS; way++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", folder, ways[way].name);
        if (way == 0) {
            files[way] =
                pmem_map_file(path, is_new ? sizeof(struct file) : 0, is_new ? PMEM_FILE_CREATE : 0, 0600, NULL, NULL);
        } else {
            pools[way] =
                is_new ? pmemobj_create(path, "records", PMEMOBJ_MIN_POOL, 0600) : pmemobj_open(path, "records");
            need(pools[way], path);
            files[way] = pmemobj_direct(pmemobj_root(pools[way], sizeof(struct file)));
        }
        need(files[way], path);
    }
}

static void append_all(void) {
    uint32_t mark = 0;
    testbed_mark(mark);
    for (int way = 0; way < WAYS; way++)
        for (uint64_t number = 0; number < RECORDS; number++) {
            ways[way].append(files[way], number);
            testbed_mark(++mark);
        }
    testbed_mark(mark);
}

static int check(int way, uint64_t acknowledged) {
    const struct file *file = files[way];
    if (file->count < acknowledged || file->count > RECORDS) {
        fprintf(stderr, "%s: there are %lu records, and %lu were acknowledged\n", ways[way].name, file->count,
                acknowledged);
        return 1;
    }
    for (uint64_t number = 0; number < file->count; number++) {
        if (file->records[number].value != value_of(number)) {
            fprintf(stderr, "%s: record %lu of %lu is not whole\n", ways[way].name, number, file->count);
            return 1;
        }
    }
    return 0;
}

static int check_all(uint64_t mark) {
    int failed = 0;
    for (uint64_t way = 0; way < WAYS; way++) {
        uint64_t passed = mark > way * RECORDS ? mark - way * RECORDS : 0;
        failed |= check((int)way, passed < RECORDS ? passed : RECORDS);
    }
    return failed;
}

int main(int argc, char **argv) {
    const char *verb = argc > 2 ? argv[1] : "", *more = argc > 3 ? argv[3] : "";

    without_persist = !strcmp(more, "no-persist");
    if (!*verb)
        return 2;
    map(argv[2], !strcmp(verb, "make"));
    if (!strcmp(verb, "append"))
        append_all();
    return strcmp(verb, "check") ? 0 : check_all(strtoull(more, NULL, 0));
}
