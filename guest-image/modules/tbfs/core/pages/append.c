/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "append.h"

#include "../persist.h"
#include "log.h"

/* A write to a page. */
struct writing {
    uint64_t at, bytes;
    const struct tbfs_source *source;
    uint64_t source_at;
};

static uint64_t entry_bytes(const struct tbfs *fs, uint64_t size) {
    uint64_t bytes = log_in_units(size, sizeof(uint64_t)) + sizeof(struct tbfs_log_entry);
    return log_in_units(bytes, fs->options.hybrid.log_align_bytes);
}

/* Adds a block behind the block with the newest entry. */
static uint64_t link_block(struct tbfs *fs, uint64_t slot, uint64_t end) {
    uint64_t offset = tx_take_log_block(fs, slot_log_bytes(slot));
    if (!offset)
        return 0;
    struct tbfs_log_block *last = log_block_at(fs, log_block_of(slot, end));
    struct tbfs_log_block header = {.prev = end, .bytes_before = log_length_until(fs, slot, end)};
    pm_copy(log_block_at(fs, offset), &header, sizeof(header));
    pm_flush(log_block_at(fs, offset), sizeof(header));
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
    pm_copy(log_block_at(fs, offset), &header, sizeof(header));
    pm_flush(log_block_at(fs, offset), sizeof(header));
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
