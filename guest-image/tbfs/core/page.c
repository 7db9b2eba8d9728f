/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "page.h"

#include "data.h"
#include "seeded_bug.h"

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

/* From where the page's first byte would be, 0: zeros. */
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

/* Which bytes are still to be had: one bit each. */
struct need {
    uint64_t words[PAGE_WORDS], left;
};

static uint64_t bits_from(uint64_t at, uint64_t end) {
    uint64_t bits = end - at;
    return (bits < WORD_BITS ? (UINT64_C(1) << bits) - 1 : ~UINT64_C(0)) << at % WORD_BITS;
}

/* Calls for each word of a range with the bits of the range in it. */
static void set_needed(struct need *need, struct page_range range, bool is_needed) {
    for (uint64_t at = range.begin; at < range.end; at = (at / WORD_BITS + 1) * WORD_BITS) {
        uint64_t bits = bits_from(at, range.end), *word = &need->words[at / WORD_BITS];
        *word = is_needed ? *word | bits : *word & ~bits;
    }
    need->left += is_needed ? range.end - range.begin : range.begin - range.end;
}

/* The first byte from `at` on that is needed, or is not; at most `end`. */
static uint64_t find_byte(const struct need *need, uint64_t at, uint64_t end, bool is_needed) {
    while (at < end) {
        uint64_t word = need->words[at / WORD_BITS], bits = (is_needed ? word : ~word) >> at % WORD_BITS;
        if (bits)
            at += (uint64_t)__builtin_ctzll(bits);
        else
            at = (at / WORD_BITS + 1) * WORD_BITS;
        if (bits)
            break;
    }
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
        if (!TBFS_BUG(NEWEST_LOSES))
            set_needed(need, run, false);
        range.begin = run.end;
    }
    return status;
}

/* From the newest entry: no byte is copied twice, and what is older than all that is needed is not looked at. */
static int read_reverse(const struct reading *reading, uint64_t end) {
    struct need need = {0};
    int status = 0;
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

/* The entries of one block from the oldest on. They can only be found from the newest. */
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
    if (TBFS_BUG(MERGE_SKIPS_NEWEST) && range.end - range.begin == TBFS_BLOCK_BYTES)
        log_previous(fs, slot, &head);
    return fs->options.hybrid.read == TBFS_READ_FORWARD ? read_forward(&reading, head) : read_reverse(&reading, head);
}

/* ---- Zeros, and what is in use ---- */

void page_zero(struct tbfs *fs, uint64_t slot, uint64_t begin, uint64_t end) {
    struct page_range range = {begin, end};
    uint64_t block = page_block(fs, slot);
    if (block)
        data_zero_bytes(space_at(fs, block + begin), end - begin);
    if (!slot_has_log(slot) || TBFS_BUG(LOG_NOT_ZEROED))
        return;
    for (uint64_t at = log_first(fs, slot)->head; at;) {
        struct log_entry entry = log_previous(fs, slot, &at);
        struct page_range part = overlap(range_of(&entry), range);
        if (part.begin < part.end)
            data_zero_bytes(space_at(fs, entry.data + part.begin - entry.offset), part.end - part.begin);
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
        map_release(&fs->blocks, block / TBFS_BLOCK_BYTES);
}
