/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "../transaction.h"

#include "../medium/invariant.h"
#include "../medium/journal.h"
#include "../medium/space.h"
#include "../persist.h"
#include "page.h"

int tx_begin(const struct tbfs *fs) { return fs->read_only || fs->broken ? -EROFS : 0; }

/* Whether an array of the transaction has space for one more element. If not, the transaction will not commit. */
static bool has_room(struct tbfs *fs, unsigned count, unsigned most, const char *sentence) {
    return invariant_holds(fs, count < most, sentence, count);
}

static bool in_new_node(const struct tbfs_transaction *tx, uint64_t offset) {
    for (unsigned i = 0; i < tx->node_count; i++)
        if (offset - tx->nodes[i] < TBFS_BLOCK_BYTES)
            return true;
    return false;
}

struct tbfs_inode *tx_inode(struct tbfs *fs, uint64_t ino) {
    struct tbfs_transaction *tx = &fs->transaction;
    for (unsigned i = 0; i < tx->inode_count; i++)
        if (tx->inodes[i].ino == ino)
            return &tx->inodes[i].inode;
    if (!has_room(fs, tx->inode_count, TBFS_INODES_MAX, "a transaction has too many inodes"))
        return &tx->inodes[0].inode;
    struct tbfs_inode_copy *copy = &tx->inodes[tx->inode_count++];
    copy->ino = ino;
    copy->inode = *space_inode(fs, ino);
    return &copy->inode;
}

static void add_piece(struct tbfs *fs, uint8_t *target, const void *source, size_t bytes) {
    struct tbfs_transaction *tx = &fs->transaction;
    struct tbfs_piece *last = tx->piece_count ? &tx->pieces[tx->piece_count - 1] : NULL;
    if (last && last->target + last->bytes == target && last->bytes + bytes <= sizeof(last->content)) {
        memcpy(last->content + last->bytes, source, bytes);
        last->bytes += bytes;
        return;
    }
    if (!has_room(fs, tx->piece_count, TBFS_PIECES_MAX, "a transaction has too many pieces") ||
        !invariant_holds(fs, bytes <= sizeof(last->content), "a piece is longer than a log entry", bytes))
        return;
    struct tbfs_piece *piece = &tx->pieces[tx->piece_count++];
    piece->target = target;
    piece->bytes = bytes;
    memcpy(piece->content, source, bytes);
}

void tx_write(struct tbfs *fs, void *target, const void *source, size_t bytes) { add_piece(fs, target, source, bytes); }

void tx_write8(struct tbfs *fs, void *target, uint64_t value) {
    if (!in_new_node(&fs->transaction, space_offset(fs, target)))
        return tx_write(fs, target, &value, sizeof(value));
    pm_store8(target, value);
    pm_flush(target, sizeof(value));
}

uint64_t tx_load8(const struct tbfs *fs, const void *target) {
    const struct tbfs_transaction *tx = &fs->transaction;
    uint64_t value;
    const void *place = target;
    for (unsigned i = 0; i < tx->piece_count; i++) {
        size_t behind = (size_t)((const uint8_t *)target - tx->pieces[i].target);
        if (behind < tx->pieces[i].bytes)
            place = tx->pieces[i].content + behind;
    }
    memcpy(&value, place, sizeof(value));
    return value;
}

uint64_t tx_take_block(struct tbfs *fs, uint64_t wanted) {
    struct tbfs_transaction *tx = &fs->transaction;
    uint64_t number = wanted;
    if (!has_room(fs, tx->taken_count, TBFS_TAKEN_MAX, "a transaction takes too many blocks"))
        return 0;
    if (!(wanted && wanted < fs->blocks.count && map_mark(&fs->blocks, wanted)) && !map_take(&fs->blocks, &number))
        return 0;
    tx->taken[tx->taken_count++] = number * TBFS_BLOCK_BYTES;
    return number * TBFS_BLOCK_BYTES;
}

uint64_t tx_take_node(struct tbfs *fs) {
    struct tbfs_transaction *tx = &fs->transaction;
    if (!has_room(fs, tx->node_count, TBFS_NODES_MAX, "a transaction makes too many nodes"))
        return 0;
    uint64_t node = tx_take_block(fs, 0);
    if (node) {
        pm_zero_nt(space_at(fs, node), TBFS_BLOCK_BYTES);
        tx->nodes[tx->node_count++] = node;
        tx_new_bytes(fs);
    }
    return node;
}

uint64_t tx_take_log_block(struct tbfs *fs, uint64_t bytes) {
    struct tbfs_transaction *tx = &fs->transaction;
    uint64_t offset;
    if (!has_room(fs, tx->taken_count, TBFS_TAKEN_MAX, "a transaction takes too many blocks"))
        return 0;
    if (!space_take_log_block(fs, bytes, &offset))
        return 0;
    tx->taken[tx->taken_count++] = slot_of_log(offset, bytes);
    return offset;
}

uint64_t tx_take_inode(struct tbfs *fs) {
    return map_take(&fs->inodes, &fs->transaction.inode_taken) ? fs->transaction.inode_taken : 0;
}

void tx_give_page(struct tbfs *fs, uint64_t slot) {
    struct tbfs_transaction *tx = &fs->transaction;
    if (!slot || !has_room(fs, tx->given_count, TBFS_BLOCKS_PER_TRANSACTION, "a transaction frees too many pages"))
        return;
    tx->given[tx->given_count++] = slot;
}

void tx_new_bytes(struct tbfs *fs) { fs->transaction.has_new_bytes = true; }

static void reset(struct tbfs_transaction *tx) {
    tx->piece_count = tx->inode_count = tx->taken_count = tx->given_count = tx->node_count = 0;
    tx->inode_taken = 0;
    tx->has_new_bytes = false;
}

static void release_taken(struct tbfs *fs, uint64_t slot) {
    if (slot_has_log(slot))
        space_release_log_block(fs, slot_log(slot), slot_log_bytes(slot));
    else
        space_release_block(fs, slot);
}

int tx_forget(struct tbfs *fs, int status) {
    struct tbfs_transaction *tx = &fs->transaction;
    for (unsigned i = 0; i < tx->taken_count; i++)
        release_taken(fs, tx->taken[i]);
    if (tx->inode_taken)
        map_release(&fs->inodes, tx->inode_taken);
    reset(tx);
    return fs->broken && status != -EROFS ? -EUCLEAN : status;
}

/* Adds the words from the first difference to the last. */
static void add_difference(struct tbfs *fs, uint8_t *target, const uint8_t *source, size_t bytes) {
    while (bytes && memcmp(target + bytes - 8, source + bytes - 8, 8) == 0)
        bytes -= 8;
    while (bytes && memcmp(target, source, 8) == 0)
        target += 8, source += 8, bytes -= 8;
    if (bytes)
        add_piece(fs, target, source, bytes);
}

static void add_inodes(struct tbfs *fs) {
    struct tbfs_transaction *tx = &fs->transaction;
    for (unsigned i = 0; i < tx->inode_count; i++) {
        uint8_t *target = (uint8_t *)space_inode(fs, tx->inodes[i].ino);
        const uint8_t *source = (const uint8_t *)&tx->inodes[i].inode;
        for (size_t at = 0; at < sizeof(struct tbfs_inode); at += TBFS_ENTRY_DATA_BYTES) {
            size_t left = sizeof(struct tbfs_inode) - at;
            add_difference(fs, target + at, source + at, left < TBFS_ENTRY_DATA_BYTES ? left : TBFS_ENTRY_DATA_BYTES);
        }
    }
}

/* The aligned unit of `bytes` that contains all pieces, null: no unit does. */
static uint8_t *common_unit(const struct tbfs_transaction *tx, size_t bytes) {
    uintptr_t first = UINTPTR_MAX, end = 0;
    for (unsigned i = 0; i < tx->piece_count; i++) {
        uintptr_t begin = (uintptr_t)tx->pieces[i].target;
        first = begin < first ? begin : first;
        end = begin + tx->pieces[i].bytes > end ? begin + tx->pieces[i].bytes : end;
    }
    first -= first % bytes;
    return tx->piece_count && end - first <= bytes ? (uint8_t *)first : NULL;
}

static void store_unit(const struct tbfs_transaction *tx, uint8_t *target, size_t bytes) {
    _Alignas(TBFS_LINE_BYTES) uint8_t unit[TBFS_LINE_BYTES];
    memcpy(unit, target, bytes);
    for (unsigned i = 0; i < tx->piece_count; i++)
        memcpy(unit + (tx->pieces[i].target - target), tx->pieces[i].content, tx->pieces[i].bytes);
    if (bytes == sizeof(uint64_t)) {
        uint64_t value;
        memcpy(&value, unit, sizeof(value));
        pm_store8(target, value);
    } else if (bytes == 16) {
        pm_store16(target, unit);
    } else {
        pm_store64(target, unit);
    }
    pm_flush(target, bytes);
}

/* Commits with one store and without the journal, if all changes are in one atomic unit, and recovery would not store
 * there. */
static bool commit_in_place(struct tbfs *fs) {
    static const unsigned units[] = {8, 16, TBFS_LINE_BYTES};
    struct tbfs_transaction *tx = &fs->transaction;
    for (unsigned i = 0; i < 3 && units[i] <= fs->options.atomic_bytes; i++) {
        uint8_t *target = common_unit(tx, units[i]);
        if (!target || journal_has(fs, space_offset(fs, target), units[i]))
            continue;
        if (tx->has_new_bytes)
            pm_fence();
        store_unit(tx, target, units[i]);
        fs->counters.atomic_updates++;
        pm_fence();
        return true;
    }
    return false;
}

static void apply(const struct tbfs_piece *piece) {
    pm_copy(piece->target, piece->content, piece->bytes);
    pm_flush(piece->target, piece->bytes);
}

static void commit_by_undo(struct tbfs *fs) {
    struct tbfs_transaction *tx = &fs->transaction;
    journal_begin(fs, tx->piece_count);
    for (unsigned i = 0; i < tx->piece_count; i++)
        journal_log(fs, tx->pieces[i].target, tx->pieces[i].bytes);
    pm_fence();
    for (unsigned i = 0; i < tx->piece_count; i++)
        apply(&tx->pieces[i]);
    pm_fence();
    journal_commit(fs);
}

/* Once the log is durable the transaction is committed. The changes in place can become durable later. */
static void commit_by_log(struct tbfs *fs) {
    struct tbfs_transaction *tx = &fs->transaction;
    journal_redo_begin(fs, tx->piece_count);
    for (unsigned i = 0; i < tx->piece_count; i++)
        journal_redo_log(fs, &tx->pieces[i]);
    pm_fence();
    journal_redo_commit(fs);
    for (unsigned i = 0; i < tx->piece_count; i++)
        apply(&tx->pieces[i]);
}

static void commit_logged(struct tbfs *fs) {
    if (fs->options.metadata == TBFS_METADATA_LOG)
        commit_by_log(fs);
    else
        commit_by_undo(fs);
    fs->counters.transactions++;
}

static bool overlaps_earlier(const struct tbfs_transaction *tx, unsigned number) {
    const struct tbfs_piece *piece = &tx->pieces[number];
    for (unsigned i = 0; i < number; i++)
        if (tx->pieces[i].target < piece->target + piece->bytes &&
            piece->target < tx->pieces[i].target + tx->pieces[i].bytes)
            return true;
    return false;
}

/* Checks that recovery would accept each piece, that each lies in a block in use, and that pieces do not overlap. */
static void check_pieces(struct tbfs *fs) {
    const struct tbfs_transaction *tx = &fs->transaction;
    for (unsigned i = 0; i < tx->piece_count; i++) {
        uint64_t offset = space_offset(fs, tx->pieces[i].target);
        invariant_holds(fs, journal_may_hold(fs, offset, tx->pieces[i].bytes),
                        "a change lies where recovery would refuse it, at", offset);
        invariant_holds(fs, space_in_use(fs, offset), "a change lies in a free block, at", offset);
        invariant_holds(fs, !overlaps_earlier(tx, i), "two changes overlap at", offset);
    }
}

int tx_commit(struct tbfs *fs) {
    struct tbfs_transaction *tx = &fs->transaction;
    add_inodes(fs);
    check_pieces(fs);
    journal_check(fs, tx->piece_count);
    if (fs->broken)
        return tx_forget(fs, -EUCLEAN);
    if (tx->piece_count == 0)
        pm_fence();
    else if (!commit_in_place(fs))
        commit_logged(fs);
    for (unsigned i = 0; i < tx->given_count; i++)
        page_release(fs, tx->given[i]);
    reset(tx);
    return fs->broken ? -EUCLEAN : 0;
}
