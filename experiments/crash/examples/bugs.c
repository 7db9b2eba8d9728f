/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes on persistent memory: one case for each mistake, each in separate lines.
 * docs/results/crash.md lists them.
 *
 *     bugs make FILE                    all cases before their operation
 *     bugs run FILE bugs|sound          all operations, with their bugs or without
 *     bugs check FILE MARK bugs|sound   the condition of the case under way, or of the one just acknowledged
 *
 * Mark 2n is passed before the operation of case n, 2n + 1 acknowledges it. The work that the bug skipped is done after
 * that, so that no state mixes two cases.
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { LINE_BYTES = 64, LINES = 4 };

struct line {
    _Alignas(LINE_BYTES) volatile uint64_t word[LINE_BYTES / 8];
};

struct cell {
    struct line a, b, c, d;
};

static int buggy;

#define INLINE static inline __attribute__((always_inline)) /* a store's place is the case, not the helper */

INLINE void flush(volatile void *at) { _mm_clwb((void *)at); }

INLINE void fence(void) { _mm_sfence(); }

INLINE void persist(volatile void *at) {
    flush(at);
    fence();
}

/* A record, then the word that says that it is valid. */

static void missing_flush(struct cell *cell) {
    cell->a.word[0] = 1;
    if (!buggy)
        flush(&cell->a);
    fence();
    cell->b.word[0] = 1;
    persist(&cell->b);
}

static void missing_fence(struct cell *cell) {
    cell->a.word[0] = 1;
    flush(&cell->a);
    if (!buggy)
        fence();
    cell->b.word[0] = 1;
    persist(&cell->b);
}

static void load_fence(struct cell *cell) {
    cell->a.word[0] = 1;
    flush(&cell->a);
    if (buggy)
        _mm_lfence();
    else
        fence();
    cell->b.word[0] = 1;
    persist(&cell->b);
}

static void flush_before_store(struct cell *cell) {
    if (buggy)
        flush(&cell->a);
    cell->a.word[0] = 1;
    if (!buggy)
        flush(&cell->a);
    fence();
    cell->b.word[0] = 1;
    persist(&cell->b);
}

static void wrong_order(struct cell *cell) {
    if (buggy) {
        cell->b.word[0] = 1;
        persist(&cell->b);
    }
    cell->a.word[0] = 1;
    persist(&cell->a);
    if (!buggy) {
        cell->b.word[0] = 1;
        persist(&cell->b);
    }
}

static void commit_without_fence(struct cell *cell) {
    cell->a.word[0] = 1;
    persist(&cell->a);
    cell->b.word[0] = 1;
    flush(&cell->b);
    if (!buggy)
        fence();
}

static int valid_is_whole(const struct cell *cell, int acknowledged) {
    return cell->b.word[0] ? cell->a.word[0] == 1 : !acknowledged;
}

/* A record of two lines. */

static void half_flushed(struct cell *cell) {
    cell->a.word[7] = 1;
    cell->c.word[0] = 1;
    flush(&cell->a);
    if (!buggy)
        flush(&cell->c);
    fence();
    cell->b.word[0] = 1;
    persist(&cell->b);
}

static int both_lines(const struct cell *cell, int acknowledged) {
    return cell->b.word[0] ? cell->a.word[7] == 1 && cell->c.word[0] == 1 : !acknowledged;
}

static void unflushed_tail(struct cell *cell) {
    _mm_stream_si64((long long *)&cell->a.word[7], 1);
    cell->c.word[0] = 1; /* a remainder shorter than a non-temporal store */
    if (!buggy)
        flush(&cell->c);
    fence();
    cell->b.word[0] = 1;
    persist(&cell->b);
}

static void short_checksum(struct cell *cell) {
    cell->a.word[7] = 1;
    cell->c.word[0] = 1;
    cell->b.word[0] = buggy ? cell->a.word[7] : 2; /* a sum of both, or of the first only */
    flush(&cell->a);
    flush(&cell->c);
    flush(&cell->b);
    fence();
}

static int sum_covers(const struct cell *cell, int acknowledged) {
    int believed = cell->b.word[0] && cell->b.word[0] == cell->a.word[7] + (cell->b.word[0] > 1 ? cell->c.word[0] : 0);
    return believed ? cell->a.word[7] == 1 && cell->c.word[0] == 1 : !acknowledged;
}

/* Two words that belong together. */

static void torn_16_bytes(struct cell *cell) {
    volatile __m128i *pair = (volatile __m128i *)(buggy ? &cell->a.word[0] : &cell->a.word[2]);
    *pair = _mm_set1_epi64x(1);
    persist(&cell->a);
    if (!buggy) {
        cell->b.word[0] = 1; /* which of two pairs holds */
        persist(&cell->b);
    }
}

static int pair_is_whole(const struct cell *cell, int acknowledged) {
    const volatile uint64_t *pair = &cell->a.word[cell->b.word[0] ? 2 : 0];
    return pair[0] == pair[1] && (pair[0] || !acknowledged);
}

static void misaligned_counter(struct cell *cell) {
    volatile uint8_t *counter = (volatile uint8_t *)&cell->a + (buggy ? 4 : 0);
    *(volatile uint64_t *)counter = 0x100000001;
    persist(counter);
}

static int counter_is_whole(const struct cell *cell, int acknowledged) {
    const volatile uint8_t *counter = (const volatile uint8_t *)&cell->a + (buggy ? 4 : 0);
    uint64_t value = *(const volatile uint64_t *)counter;
    return value == 0x100000001 || (value == 0 && !acknowledged);
}

/* An undo log of a and b: c says whether it is valid, d has their old value. The check recovers. */

static void log_before_bytes(struct cell *cell) {
    if (buggy) {
        cell->c.word[0] = 1;
        cell->d.word[0] = 5;
        flush(&cell->c);
        persist(&cell->d);
    } else {
        cell->d.word[0] = 5;
        persist(&cell->d);
        cell->c.word[0] = 1;
        persist(&cell->c);
    }
    cell->a.word[0] = 6;
    cell->b.word[0] = 6;
    flush(&cell->a);
    flush(&cell->b);
    fence();
    cell->c.word[0] = 0;
    persist(&cell->c);
}

static void log_cleared_early(struct cell *cell) {
    cell->d.word[0] = 5;
    persist(&cell->d);
    cell->c.word[0] = 1;
    persist(&cell->c);
    cell->a.word[0] = 6;
    cell->b.word[0] = 6;
    flush(&cell->a);
    flush(&cell->b);
    if (!buggy)
        fence();
    cell->c.word[0] = 0;
    persist(&cell->c);
}

static int undone_or_done(const struct cell *cell, int acknowledged) {
    uint64_t first = cell->c.word[0] ? cell->d.word[0] : cell->a.word[0];
    uint64_t second = cell->c.word[0] ? cell->d.word[0] : cell->b.word[0];
    return first == second && (first == 6 || (first == 5 && !acknowledged));
}

/* Folders: a and b hold names of one file, c its links. */

static void rename_in_place(struct cell *cell) {
    if (!buggy) {
        cell->b.word[0] = 1;
        persist(&cell->b);
    }
    cell->a.word[0] = 0;
    persist(&cell->a);
    if (buggy) {
        cell->b.word[0] = 1;
        persist(&cell->b);
    }
}

static int has_a_name(const struct cell *cell, int acknowledged) {
    return cell->b.word[0] || (cell->a.word[0] && !acknowledged);
}

static void count_before_entry(struct cell *cell) {
    if (buggy) {
        cell->c.word[0] = 0;
        persist(&cell->c);
    }
    cell->a.word[0] = 0;
    persist(&cell->a);
    if (!buggy) {
        cell->c.word[0] = 0;
        persist(&cell->c);
    }
}

static int links_suffice(const struct cell *cell, int acknowledged) {
    return cell->a.word[0] <= cell->c.word[0] && (!acknowledged || !cell->a.word[0]);
}

/* A list: b is its head, a the first node, c the second. */

static void head_before_node(struct cell *cell) {
    if (!buggy) {
        cell->c.word[0] = 7;
        persist(&cell->c);
    }
    cell->b.word[0] = 2;
    persist(&cell->b);
    if (buggy) {
        cell->c.word[0] = 7;
        persist(&cell->c);
    }
}

static void freed_before_unlinked(struct cell *cell) {
    if (buggy) {
        cell->a.word[0] = 9;
        persist(&cell->a);
    }
    cell->c.word[0] = 7;
    persist(&cell->c);
    cell->b.word[0] = 2;
    persist(&cell->b);
    if (!buggy) {
        cell->a.word[0] = 9;
        persist(&cell->a);
    }
}

static int head_is_sound(const struct cell *cell, int acknowledged) {
    uint64_t first = cell->b.word[0] == 2 ? cell->c.word[0] : cell->a.word[0];
    return first == 7 && (!acknowledged || cell->b.word[0] == 2);
}

/* Two copies in a and c, each with a number in its word 1; the newer one that is whole holds. */

static void overwritten_copy(struct cell *cell) {
    struct line *to = buggy ? &cell->a : &cell->c; /* a is the newer */
    to->word[0] = 8;
    to->word[1] = 2;
    to->word[2] = 10; /* their sum */
    persist(to);
}

static uint64_t number_if_whole(const struct line *copy) {
    return copy->word[0] + copy->word[1] == copy->word[2] ? copy->word[1] : 0;
}

static int newest_is_there(const struct cell *cell, int acknowledged) {
    uint64_t first = number_if_whole(&cell->a), second = number_if_whole(&cell->c);
    return (first > second ? first : second) >= (acknowledged ? 2 : 1);
}

/* A recovery that adds c to a where d says that it is to be done. That it ended is acknowledged. */

static void recovery_adds_twice(struct cell *cell) {
    if (buggy)
        cell->a.word[0] += cell->c.word[0];
    else
        cell->a.word[0] = cell->c.word[1]; /* the log has the sum */
    persist(&cell->a);
    cell->d.word[0] = 0;
    persist(&cell->d);
}

static int added_once(const struct cell *cell, int acknowledged) {
    uint64_t by_log = buggy ? cell->a.word[0] + cell->c.word[0] : cell->c.word[1];
    return (cell->d.word[0] ? by_log : cell->a.word[0]) == 3 && (!acknowledged || !cell->d.word[0]);
}

static const struct {
    const char *name;
    void (*operation)(struct cell *);
    int (*holds)(const struct cell *, int acknowledged);
    uint64_t begin[LINES][3]; /* words of a, b, c and d */
} cases[] = {
    {"missing flush", missing_flush, valid_is_whole, {{0}}},
    {"missing fence", missing_fence, valid_is_whole, {{0}}},
    {"LFENCE for SFENCE", load_fence, valid_is_whole, {{0}}},
    {"flush before the store", flush_before_store, valid_is_whole, {{0}}},
    {"valid before the record", wrong_order, valid_is_whole, {{0}}},
    {"commit without fence", commit_without_fence, valid_is_whole, {{0}}},
    {"second line not flushed", half_flushed, both_lines, {{0}}},
    {"tail of a non-temporal copy", unflushed_tail, both_lines, {{0}}},
    {"checksum that does not cover", short_checksum, sum_covers, {{0}}},
    {"torn 16 bytes", torn_16_bytes, pair_is_whole, {{0}}},
    {"misaligned counter", misaligned_counter, counter_is_whole, {{0}}},
    {"log valid before its bytes", log_before_bytes, undone_or_done, {{5}, {5}, {0}, {4}}},
    {"log cleared before its data", log_cleared_early, undone_or_done, {{5}, {5}, {0}, {4}}},
    {"rename that invalidates in place", rename_in_place, has_a_name, {{1}}},
    {"link count before entry", count_before_entry, links_suffice, {{1}, {0}, {1}}},
    {"head before its node", head_before_node, head_is_sound, {{7}, {1}}},
    {"freed before it is unlinked", freed_before_unlinked, head_is_sound, {{7}, {1}}},
    {"the newer copy overwritten", overwritten_copy, newest_is_there, {{6, 1, 7}, {0}, {5, 0, 5}}},
    {"recovery that adds twice", recovery_adds_twice, added_once, {{1}, {0}, {2, 3}, {1}}},
};

enum { CASES = sizeof(cases) / sizeof(cases[0]) };

static struct cell *map(const char *path, int flags) {
    int fd = open(path, O_RDWR | flags, 0600);
    if (fd < 0 || ftruncate(fd, CASES * sizeof(struct cell))) {
        perror(path);
        exit(2);
    }
    void *file = mmap(NULL, CASES * sizeof(struct cell), PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    if (file == MAP_FAILED) {
        perror(path);
        exit(2);
    }
    return file;
}

static void persist_cell(struct cell *cell) {
    for (int line = 0; line < LINES; line++)
        flush(&cell->a + line);
    fence();
}

static void make(struct cell *cells) {
    for (int n = 0; n < CASES; n++) {
        for (int line = 0; line < LINES; line++)
            for (int word = 0; word < 3; word++)
                (&cells[n].a + line)->word[word] = cases[n].begin[line][word];
        persist_cell(&cells[n]);
    }
}

static void run(struct cell *cells) {
    for (uint32_t n = 0; n < CASES; n++) {
        testbed_mark(2 * n);
        cases[n].operation(&cells[n]);
        testbed_mark(2 * n + 1);
        persist_cell(&cells[n]);
    }
    testbed_mark(2 * CASES);
}

static int check(const struct cell *cells, unsigned mark) {
    unsigned n = mark / 2, acknowledged = mark % 2;
    if (n >= CASES || cases[n].holds(&cells[n], acknowledged))
        return 0;
    fprintf(stderr, "%s: %s\n", cases[n].name, acknowledged ? "what was acknowledged is lost" : "it is not whole");
    return 1;
}

int main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "", *path = argc > 2 ? argv[2] : "", *more = argc > 3 ? argv[3] : "";

    buggy = !strcmp(argc > 4 ? argv[4] : more, "bugs");
    if (!strcmp(verb, "make"))
        make(map(path, O_CREAT));
    else if (!strcmp(verb, "run"))
        run(map(path, 0));
    else if (!strcmp(verb, "check"))
        return check(map(path, 0), strtoul(more, NULL, 0));
    else
        return 2;
    return 0;
}
