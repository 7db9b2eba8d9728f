/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "log.h"

#include "../persist.h"

static struct tbfs_log_block *block_at(const struct tbfs *fs, uint64_t offset) { return space_at(fs, offset); }

static const struct tbfs_log_entry *entry_before(const struct tbfs *fs, uint64_t end) {
    return space_at(fs, end - sizeof(struct tbfs_log_entry));
}

static uint64_t in_units(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* ---- Read ---- */

struct log_entry log_previous(const struct tbfs *fs, uint64_t slot, uint64_t *end) {
    const struct tbfs_log_entry *entry = entry_before(fs, *end);
    uint64_t begin = *end - entry->bytes, block = log_block_of(slot, *end);
    *end = begin == block + LOG_HEADER_BYTES ? block_at(fs, block)->prev : begin;
    return (struct log_entry){begin, entry->offset, entry->size};
}

/* The length from the log's beginning to an end. */
static uint64_t length_until(const struct tbfs *fs, uint64_t slot, uint64_t end) {
    uint64_t block = log_block_of(slot, end), before = 0;
    if (block != slot_log(slot))
        before = block_at(fs, block)->bytes_before;
    return before + end - block;
}

uint64_t log_length(const struct tbfs *fs, uint64_t slot) { return length_until(fs, slot, log_first(fs, slot)->head); }

/* ---- Append: invisible until the head has moved ---- */

/* A write to a page. */
struct writing {
    uint64_t at, bytes;
    const struct tbfs_source *source;
    uint64_t source_at;
};

static uint64_t entry_bytes(const struct tbfs *fs, uint64_t size) {
    uint64_t bytes = in_units(size, sizeof(uint64_t)) + sizeof(struct tbfs_log_entry);
    return in_units(bytes, fs->options.hybrid.log_align_bytes);
}

/* Adds a block behind the block with the newest entry. */
static uint64_t link_block(struct tbfs *fs, uint64_t slot, uint64_t end) {
    uint64_t offset = tx_take_log_block(fs, slot_log_bytes(slot));
    if (!offset)
        return 0;
    struct tbfs_log_block *last = block_at(fs, log_block_of(slot, end));
    struct tbfs_log_block header = {.prev = end, .bytes_before = length_until(fs, slot, end)};
    pm_copy(block_at(fs, offset), &header, sizeof(header));
    pm_flush(block_at(fs, offset), sizeof(header));
    pm_store8(&last->next, offset);
    pm_flush(&last->next, sizeof(last->next));
    return offset;
}

static int put_entry(struct tbfs *fs, uint64_t begin, const struct writing *part) {
    struct tbfs_log_entry entry = {
        .offset = (uint16_t)part->at, .size = (uint16_t)part->bytes, .bytes = (uint16_t)entry_bytes(fs, part->bytes)};
    uint64_t *place = space_at(fs, begin + entry.bytes - sizeof(entry)), word;
    int status = part->source->copy(part->source->context, part->source_at, space_at(fs, begin), part->bytes);
    memcpy(&word, &entry, sizeof(word));
    pm_store8(place, word);
    pm_flush(place, sizeof(word));
    fs->counters.log_entries++;
    return status;
}

/* An entry lies within one block. A write that does not fit into one block is split. */
static int put_entries(struct tbfs *fs, uint64_t slot, uint64_t *end, struct writing left) {
    const uint64_t most = slot_log_bytes(slot) - LOG_HEADER_BYTES - sizeof(struct tbfs_log_entry);
    int status = 0;
    while (left.bytes && status == 0) {
        struct writing part = left;
        part.bytes = left.bytes < most ? left.bytes : most;
        if (log_block_of(slot, *end) + slot_log_bytes(slot) - *end < entry_bytes(fs, part.bytes)) {
            uint64_t block = link_block(fs, slot, *end);
            if (!block)
                return -ENOSPC;
            *end = block + LOG_HEADER_BYTES;
        }
        status = put_entry(fs, *end, &part);
        *end += entry_bytes(fs, part.bytes);
        left.at += part.bytes;
        left.source_at += part.bytes;
        left.bytes -= part.bytes;
    }
    return status;
}

/* Makes a log of one block, which is not reachable yet. */
static uint64_t new_log(struct tbfs *fs, uint64_t page) {
    uint64_t bytes = fs->options.hybrid.log_block_bytes, offset = tx_take_log_block(fs, bytes);
    if (!offset)
        return 0;
    struct tbfs_log_block header = {.page = page};
    pm_copy(block_at(fs, offset), &header, sizeof(header));
    pm_flush(block_at(fs, offset), sizeof(header));
    return slot_of_log(offset, bytes);
}

static void store_head(uint64_t *head, uint64_t end) {
    pm_store8(head, end);
    pm_flush(head, sizeof(*head));
}

int log_append(struct tbfs *fs, uint64_t *slot, uint64_t at, uint64_t bytes, const struct tbfs_source *source,
               uint64_t source_at) {
    bool is_new = !slot_has_log(*slot);
    if (is_new)
        *slot = new_log(fs, *slot);
    if (!*slot)
        return -ENOSPC;
    struct tbfs_log_block *first = log_first(fs, *slot);
    uint64_t end = is_new ? slot_log(*slot) + LOG_HEADER_BYTES : first->head;
    int status = put_entries(fs, *slot, &end, (struct writing){at, bytes, source, source_at});
    tx_new_bytes(fs);
    if (status < 0)
        return status;
    if (is_new)
        store_head(&first->head, end);
    else /* reachable: the entries become visible together with all other changes of the transaction */
        tx_write8(fs, &first->head, end);
    return 0;
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
            entry->bytes < in_units(entry->size, sizeof(uint64_t)) + sizeof(*entry) ||
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
    const struct tbfs_log_block *here = block_at(fs, block);
    return block_at(fs, log_block_of(slot, here->prev))->next == block &&
           here->bytes_before == length_until(fs, slot, here->prev);
}

int log_mark(struct tbfs *fs, uint64_t slot) {
    const struct tbfs_log_block *first = log_first(fs, slot);
    if (!space_has_log_block(fs, slot_log(slot), slot_log_bytes(slot)) ||
        slot != slot_of_log(slot_log(slot), slot_log_bytes(slot)))
        return -EUCLEAN;
    uint64_t end = first->head;
    while (mark_block(fs, slot, end)) {
        uint64_t block = log_block_of(slot, end);
        end = block_at(fs, block)->prev;
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
        end = block_at(fs, block)->prev;
        space_release_log_block(fs, block, slot_log_bytes(slot));
    }
}
