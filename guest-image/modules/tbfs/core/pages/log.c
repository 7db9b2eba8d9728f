/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "log.h"

static const struct tbfs_log_entry *entry_before(const struct tbfs *fs, uint64_t end) {
    return space_at(fs, end - sizeof(struct tbfs_log_entry));
}

/* ---- Read ---- */

struct log_entry log_previous(const struct tbfs *fs, uint64_t slot, uint64_t *end) {
    const struct tbfs_log_entry *entry = entry_before(fs, *end);
    uint64_t begin = *end - entry->bytes, block = log_block_of(slot, *end);
    *end = begin == block + LOG_HEADER_BYTES ? log_block_at(fs, block)->prev : begin;
    return (struct log_entry){begin, entry->offset, entry->size};
}

uint64_t log_length_until(const struct tbfs *fs, uint64_t slot, uint64_t end) {
    uint64_t block = log_block_of(slot, end), before = 0;
    if (block != slot_log(slot))
        before = log_block_at(fs, block)->bytes_before;
    return before + end - block;
}

uint64_t log_length(const struct tbfs *fs, uint64_t slot) {
    return log_length_until(fs, slot, log_first(fs, slot)->head);
}

/* ---- Whole logs ---- */

/* Checks the entries from an end in a block back to the block's beginning. */
static bool entries_are_sound(const struct tbfs *fs, uint64_t block, uint64_t end) {
    uint64_t begin = block + LOG_HEADER_BYTES;
    if (end % sizeof(uint64_t) || end <= begin)
        return false;
    while (end > begin) {
        const struct tbfs_log_entry *entry = entry_before(fs, end);
        if (entry->bytes % sizeof(uint64_t) || entry->bytes > end - begin || entry->size == 0 ||
            entry->bytes < log_in_units(entry->size, sizeof(uint64_t)) + sizeof(*entry) ||
            entry->offset + entry->size > TBFS_BLOCK_BYTES)
            return false;
        end -= entry->bytes;
    }
    return true;
}

static bool mark_block(struct tbfs *fs, uint64_t slot, uint64_t end) {
    uint64_t block = log_block_of(slot, end), bytes = slot_log_bytes(slot);
    return end && space_has_log_block(fs, block, bytes) && space_mark_log_block(fs, block, bytes) &&
           entries_are_sound(fs, block, end);
}

/* Checks a block's link to the previous block, in both directions, and the length of the log before it. */
static bool link_is_sound(const struct tbfs *fs, uint64_t slot, uint64_t block) {
    const struct tbfs_log_block *here = log_block_at(fs, block);
    return log_block_at(fs, log_block_of(slot, here->prev))->next == block &&
           here->bytes_before == log_length_until(fs, slot, here->prev);
}

int log_mark(struct tbfs *fs, uint64_t slot) {
    const struct tbfs_log_block *first = log_first(fs, slot);
    if (!space_has_log_block(fs, slot_log(slot), slot_log_bytes(slot)) ||
        slot != slot_of_log(slot_log(slot), slot_log_bytes(slot)))
        return -EUCLEAN;
    uint64_t end = first->head;
    while (mark_block(fs, slot, end)) {
        uint64_t block = log_block_of(slot, end);
        end = log_block_at(fs, block)->prev;
        if (block == slot_log(slot))
            return end ? -EUCLEAN : 0;
        uint64_t before = log_block_of(slot, end);
        if (!end || !space_has_log_block(fs, before, slot_log_bytes(slot)) || !link_is_sound(fs, slot, block))
            return -EUCLEAN;
    }
    return -EUCLEAN;
}

void log_release(struct tbfs *fs, uint64_t slot) {
    for (uint64_t end = log_first(fs, slot)->head; end;) {
        uint64_t block = log_block_of(slot, end);
        end = log_block_at(fs, block)->prev;
        space_release_log_block(fs, block, slot_log_bytes(slot));
    }
}
