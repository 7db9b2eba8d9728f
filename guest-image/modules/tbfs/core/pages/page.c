/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "page.h"

#include "../medium/bytes.h"
#include "../medium/invariant.h"

enum {
    WORD_BITS = 64,
    PAGE_WORDS = TBFS_BLOCK_BYTES / WORD_BITS,
    LOG_ENTRIES_MAX = TBFS_BLOCK_BYTES / LOG_ENTRY_BYTES_MIN
};

uint64_t page_block(const struct tbfs *fs, uint64_t slot) {
    return slot_has_log(slot) ? log_first(fs, slot)->page : slot;
}

static struct page_range overlap(struct page_range a, struct page_range b) {
    return (struct page_range){a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end};
}

static struct page_range range_of(const struct log_entry *entry) {
    return (struct page_range){entry->offset, entry->offset + entry->size};
}

/* ---- Read ---- */

struct reading {
    struct tbfs *fs;
    uint64_t slot;
    struct page_range range;
    const struct tbfs_sink *sink;
    uint64_t sink_at;
};

/* Passes a part of the page to the sink. `first` is the offset that the page's first byte has, or would have if the
 * entry's data continued to it; 0: zeros. */
static int give(const struct reading *reading, struct page_range part, uint64_t first) {
    const struct tbfs_sink *sink = reading->sink;
    const void *source = first ? space_at(reading->fs, first + part.begin) : NULL;
    return sink->copy(sink->context, reading->sink_at + part.begin - reading->range.begin, source,
                      part.end - part.begin);
}

static struct log_entry next_older(const struct reading *reading, uint64_t *end) {
    reading->fs->counters.log_entries_read++;
    return log_previous(reading->fs, reading->slot, end);
}

/*
 * The bytes that are still needed, one bit each. `some` has a bit for each word with at least one set bit, `all` for
 * each word with all bits set. A word in `words` is valid only if some of its bits are set and some are not. So an
 * operation on a range touches only the words at its two ends.
 */
struct need {
    uint64_t some, all, words[PAGE_WORDS], left;
};

/* The bits of a word from `at` to `end`, or to the word's end. */
static uint64_t bits_from(uint64_t at, uint64_t end) {
    uint64_t bits = end - at;
    return (bits < WORD_BITS ? (UINT64_C(1) << bits) - 1 : ~UINT64_C(0)) << at % WORD_BITS;
}

static uint64_t word_of(const struct need *need, uint64_t number) {
    uint64_t bit = UINT64_C(1) << number;
    if (need->all & bit)
        return ~UINT64_C(0);
    return need->some & bit ? need->words[number] : 0;
}

static void set_word(struct need *need, uint64_t number, uint64_t word) {
    uint64_t bit = UINT64_C(1) << number;
    need->words[number] = word;
    need->some = word ? need->some | bit : need->some & ~bit;
    need->all = word == ~UINT64_C(0) ? need->all | bit : need->all & ~bit;
}

/* Sets or clears a range within one word. */
static void set_in_word(struct need *need, uint64_t at, uint64_t end, bool is_needed) {
    uint64_t bits = bits_from(at, end), word = word_of(need, at / WORD_BITS);
    set_word(need, at / WORD_BITS, is_needed ? word | bits : word & ~bits);
}

/* Sets or clears a range, which must not be empty. */
static void set_needed(struct need *need, struct page_range range, bool is_needed) {
    uint64_t first = range.begin / WORD_BITS, last = (range.end - 1) / WORD_BITS;
    need->left += is_needed ? range.end - range.begin : range.begin - range.end;
    if (first == last) {
        set_in_word(need, range.begin, range.end, is_needed);
        return;
    }
    uint64_t between = last - first > 1 ? bits_from(first + 1, last) : 0;
    need->some = is_needed ? need->some | between : need->some & ~between;
    need->all = is_needed ? need->all | between : need->all & ~between;
    set_in_word(need, range.begin, (first + 1) * WORD_BITS, is_needed);
    set_in_word(need, last * WORD_BITS, range.end, is_needed);
}

/* The first byte from `at` on that is needed, or that is not needed; at most `end`. */
static uint64_t find_byte(const struct need *need, uint64_t at, uint64_t end, bool is_needed) {
    uint64_t number = at / WORD_BITS, word, bits;
    if (at >= end)
        return end;
    word = word_of(need, number);
    bits = (is_needed ? word : ~word) >> at % WORD_BITS;
    if (!bits) {
        uint64_t words = (is_needed ? need->some : ~need->all) & ~bits_from(0, number + 1);
        if (!words)
            return end;
        number = (uint64_t)__builtin_ctzll(words);
        at = number * WORD_BITS;
        word = word_of(need, number);
        bits = is_needed ? word : ~word;
    }
    at += (uint64_t)__builtin_ctzll(bits);
    return at < end ? at : end;
}

static int give_needed(const struct reading *reading, struct need *need, struct page_range range, uint64_t first) {
    int status = 0;
    while (status == 0) {
        struct page_range run = {find_byte(need, range.begin, range.end, true), range.end};
        if (run.begin >= run.end)
            break;
        run.end = find_byte(need, run.begin, run.end, false);
        status = give(reading, run, first);
        set_needed(need, run, false);
        range.begin = run.end;
    }
    return status;
}

/* Reads from the newest entry to older ones. It copies no byte twice, and stops when all bytes are complete. */
static int read_reverse(const struct reading *reading, uint64_t end) {
    struct need need;
    int status = 0;
    need.some = need.all = need.left = 0; /* which makes the words irrelevant */
    set_needed(&need, reading->range, true);
    while (status == 0 && need.left && end) {
        struct log_entry entry = next_older(reading, &end);
        struct page_range part = overlap(range_of(&entry), reading->range);
        status = give_needed(reading, &need, part, entry.data - entry.offset);
    }
    if (status == 0 && need.left)
        status = give_needed(reading, &need, reading->range, page_block(reading->fs, reading->slot));
    return status;
}

/* Reads the entries of one block, the oldest first. Entries can be located only backwards, from the newest one. */
static int read_block(const struct reading *reading, uint64_t block, uint64_t end) {
    uint16_t ends[LOG_ENTRIES_MAX];
    unsigned count = 0;
    int status = 0;
    while (end && log_block_of(reading->slot, end) == block) {
        ends[count++] = (uint16_t)(end - block);
        log_previous(reading->fs, reading->slot, &end);
    }
    while (status == 0 && count > 0) {
        end = block + ends[--count];
        struct log_entry entry = next_older(reading, &end);
        struct page_range part = overlap(range_of(&entry), reading->range);
        if (part.begin < part.end)
            status = give(reading, part, entry.data - entry.offset);
    }
    return status;
}

static int read_forward(const struct reading *reading, uint64_t head) {
    uint64_t block = slot_log(reading->slot), last = log_block_of(reading->slot, head);
    int status = give(reading, reading->range, page_block(reading->fs, reading->slot));
    while (status == 0 && block != last) {
        const struct tbfs_log_block *here = space_at(reading->fs, block);
        const struct tbfs_log_block *next = space_at(reading->fs, here->next);
        status = read_block(reading, block, next->prev);
        block = here->next;
    }
    return status < 0 ? status : read_block(reading, last, head);
}

int page_read(struct tbfs *fs, uint64_t slot, struct page_range range, const struct tbfs_sink *sink, uint64_t sink_at) {
    struct reading reading = {fs, slot, range, sink, sink_at};
    if (range.begin >= range.end)
        return 0;
    if (!slot_has_log(slot))
        return give(&reading, range, slot);
    uint64_t head = log_first(fs, slot)->head;
    return fs->options.hybrid.read == TBFS_READ_FORWARD ? read_forward(&reading, head) : read_reverse(&reading, head);
}

/* ---- Zeros, and the map of used blocks ---- */

void page_zero(struct tbfs *fs, uint64_t slot, uint64_t begin, uint64_t end) {
    struct page_range range = {begin, end};
    uint64_t block = page_block(fs, slot);
    if (block && invariant_holds(fs, space_in_use(fs, block), "a file has a free block, at", block))
        bytes_zero(space_at(fs, block + begin), end - begin);
    if (!slot_has_log(slot))
        return;
    for (uint64_t at = log_first(fs, slot)->head; at;) {
        struct log_entry entry = log_previous(fs, slot, &at);
        struct page_range part = overlap(range_of(&entry), range);
        if (part.begin < part.end)
            bytes_zero(space_at(fs, entry.data + part.begin - entry.offset), part.end - part.begin);
    }
}

int page_mark(struct tbfs *fs, uint64_t slot, bool may_have_log) {
    if (slot_has_log(slot) && (!may_have_log || log_mark(fs, slot) < 0))
        return -EUCLEAN;
    uint64_t block = page_block(fs, slot);
    if (block == 0)
        return 0;
    return space_has_block(fs, block) && map_mark(&fs->blocks, block / TBFS_BLOCK_BYTES) ? 0 : -EUCLEAN;
}

void page_release(struct tbfs *fs, uint64_t slot) {
    uint64_t block = page_block(fs, slot);
    if (slot_has_log(slot))
        log_release(fs, slot);
    if (block)
        space_release_block(fs, block);
}
