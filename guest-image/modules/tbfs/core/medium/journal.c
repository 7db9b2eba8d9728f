/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * undo: begin   reserve the entries, and one for the commit: move the tail behind them; flush
 *       log     old content, generation last; flush; a fence after the last entry
 *       change  in place; flush; fence
 *       commit  an entry; flush; fence
 *
 * The tail needs no fence of its own: the fence after the log precedes the first change.
 *
 * log:  log     new content behind the tail; flush; a fence after the last entry
 *       commit  move head and tail to the bounds of these entries; flush; fence
 *       change  in place; flush
 *
 * The first fence of the next transaction makes the changes durable. So recovery stores at most one transaction again:
 * the last.
 */
#include "journal.h"

#include "../persist.h"
#include "invariant.h"
#include "space.h"

enum { GENERATION_MAX = 65535 };

uint32_t journal_capacity(uint64_t journal_bytes) { return (uint32_t)(journal_bytes / TBFS_LINE_BYTES - 1); }

static void attach(struct tbfs *fs) {
    struct tbfs_journal *journal = &fs->journal;
    *journal = (struct tbfs_journal){
        .header = space_at(fs, fs->super->journal_offset),
        .entries = space_at(fs, fs->super->journal_offset + TBFS_LINE_BYTES),
        .capacity = journal_capacity(fs->super->journal_bytes),
    };
    journal->head = (uint32_t)journal->header->head;
    journal->tail = journal->header->tail;
    journal->generation = journal->header->generation;
    journal->redo = journal->header->redo;
}

static void set_head(struct tbfs_journal *journal, uint32_t head) {
    journal->head = head;
    pm_store8(&journal->header->head, head);
    pm_flush(journal->header, sizeof(*journal->header));
}

static void set_tail(struct tbfs_journal *journal, uint32_t tail, uint16_t generation) {
    struct tbfs_journal_header word = {.tail = tail, .generation = generation, .redo = journal->redo};
    uint64_t value;
    memcpy(&value, &word, sizeof(value));
    journal->tail = tail;
    journal->generation = generation;
    pm_store8(journal->header, value);
    pm_flush(journal->header, sizeof(*journal->header));
}

/* A new generation invalidates the entries of all earlier ones. After 65,535 the numbers begin again at 1, so all
 * entries are wiped first. The journal must be empty. */
static uint16_t next_generation(const struct tbfs_journal *journal) {
    if (journal->generation < GENERATION_MAX)
        return (uint16_t)(journal->generation + 1);
    pm_fence();
    pm_zero_nt(journal->entries, (size_t)journal->capacity * TBFS_LINE_BYTES);
    pm_fence();
    return 1;
}

void journal_make(struct tbfs *fs) {
    attach(fs);
    pm_zero_nt(fs->journal.header, fs->super->journal_bytes);
    fs->journal.redo = false; /* attach() has read the medium's former content */
    set_tail(&fs->journal, 0, 1);
}

/* All transactions in the journal are committed, and their changes in place are durable. Head and tail are in one line,
 * so these stores become durable in their order. */
static void go_around(struct tbfs_journal *journal) {
    set_head(journal, journal->tail);
    uint16_t generation = next_generation(journal);
    set_head(journal, 0);
    set_tail(journal, 0, generation);
}

void journal_begin(struct tbfs *fs, uint32_t entries) {
    struct tbfs_journal *journal = &fs->journal;
    uint32_t needed = entries + 1;
    if (journal->tail - journal->head > journal->capacity / 8)
        set_head(journal, journal->tail);
    if (journal->capacity - journal->tail < needed)
        go_around(journal);
    journal->next = journal->tail;
    journal->transaction++;
    set_tail(journal, journal->tail + needed, journal->generation);
}

/* Within a line stores become durable in their order, so an entry with a durable generation is complete. */
static void put(struct tbfs_journal *journal, struct tbfs_entry *entry) {
    struct tbfs_entry *place = &journal->entries[journal->next++];
    uint64_t words[TBFS_LINE_BYTES / sizeof(uint64_t)];
    entry->transaction = journal->transaction;
    entry->generation = journal->generation;
    memcpy(words, entry, sizeof(words));
    pm_store8(place, words[0]);
    pm_copy((uint64_t *)place + 2, words + 2, sizeof(words) - 2 * sizeof(words[0]));
    pm_store8((uint64_t *)place + 1, words[1]);
    pm_flush(place, sizeof(*place));
}

void journal_log(struct tbfs *fs, const void *target, size_t bytes) {
    struct tbfs_journal *journal = &fs->journal;
    bool is_first = journal->next + fs->transaction.piece_count + 1 == journal->tail;
    struct tbfs_entry entry = {.offset = space_offset(fs, target), .size = (uint8_t)bytes};
    if (is_first)
        entry.type = TBFS_ENTRY_START;
    memcpy(entry.content, target, bytes);
    put(journal, &entry);
    fs->counters.journal_entries++;
}

void journal_commit(struct tbfs *fs) {
    struct tbfs_entry entry = {.type = TBFS_ENTRY_COMMIT};
    put(&fs->journal, &entry);
    fs->counters.journal_entries++;
    pm_fence();
}

/* ---- Metadata policy `log` ---- */

/* Extends the bounds of the last transaction's targets in blocks. */
static void widen(struct tbfs *fs, const struct tbfs_entry *entry) {
    struct tbfs_journal *journal = &fs->journal;
    if (entry->offset < fs->super->data_offset)
        return;
    if (journal->redo_begin > entry->offset)
        journal->redo_begin = entry->offset;
    if (journal->redo_end < entry->offset + entry->size)
        journal->redo_end = entry->offset + entry->size;
}

void journal_redo_begin(struct tbfs *fs, uint32_t entries) {
    struct tbfs_journal *journal = &fs->journal;
    journal->redo_begin = UINT64_MAX;
    journal->redo_end = 0;
    if (journal->capacity - journal->tail < entries) {
        pm_fence();
        journal->redo = false;
        set_tail(journal, journal->tail, journal->generation);
        go_around(journal);
    }
    journal->next = journal->tail;
    journal->transaction++;
}

void journal_redo_log(struct tbfs *fs, const struct tbfs_piece *piece) {
    struct tbfs_entry entry = {.offset = space_offset(fs, piece->target), .size = (uint8_t)piece->bytes};
    memcpy(entry.content, piece->content, piece->bytes);
    put(&fs->journal, &entry);
    widen(fs, &entry);
    fs->counters.journal_entries++;
}

void journal_redo_commit(struct tbfs *fs) {
    struct tbfs_journal *journal = &fs->journal;
    journal->head = journal->tail;
    journal->redo = true;
    pm_store8(&journal->header->head, journal->head);
    set_tail(journal, journal->next, journal->generation);
    pm_fence();
}

bool journal_may_hold(const struct tbfs *fs, uint64_t offset, uint64_t bytes) {
    if (bytes == 0 || bytes > TBFS_ENTRY_DATA_BYTES || offset % 8 || bytes % 8)
        return false;
    if (offset == offsetof(struct tbfs_super, truncate_head))
        return bytes == sizeof(uint64_t);
    return offset >= fs->super->inode_offset && offset <= fs->super->bytes - bytes;
}

void journal_check(struct tbfs *fs, uint32_t entries) {
    const struct tbfs_journal *journal = &fs->journal;
    invariant_holds(fs, journal->head <= journal->tail, "the journal's head is behind its tail, at", journal->head);
    invariant_holds(fs, journal->tail <= journal->capacity, "the journal's tail is behind its end, at", journal->tail);
    invariant_holds(fs, entries < journal->capacity, "the journal is too short for a transaction of", entries);
    invariant_holds(fs, journal->generation, "the journal's generation is", journal->generation);
}

bool journal_has(const struct tbfs *fs, uint64_t offset, uint64_t bytes) {
    const struct tbfs_journal *journal = &fs->journal;
    if (offset >= fs->super->data_offset && (offset >= journal->redo_end || offset + bytes <= journal->redo_begin))
        return false;
    for (uint32_t i = journal->head; journal->redo && i < journal->tail; i++) {
        const struct tbfs_entry *entry = &journal->entries[i];
        if (entry->offset < offset + bytes && offset < entry->offset + entry->size)
            return true;
    }
    return false;
}

/* The changes have been flushed, so a fence makes them durable in place. The journal can then be emptied. */
bool journal_yield(struct tbfs *fs, uint64_t offset, uint64_t bytes) {
    if (!invariant_holds(fs, space_in_use(fs, offset), "a free block is changed or freed again, at", offset))
        return false;
    if (!journal_has(fs, offset, bytes))
        return true;
    pm_fence();
    set_head(&fs->journal, fs->journal.tail);
    pm_fence();
    return true;
}

/* ---- Recovery ---- */

static bool is_valid(const struct tbfs_journal *journal, uint32_t place) {
    return place < journal->tail && journal->entries[place].generation == journal->generation;
}

/* Finds the transaction that has begun and not committed: its first entry is `*first`. Returns the number of its
 * entries. */
static uint32_t find_open(const struct tbfs_journal *journal, uint32_t *first) {
    uint32_t count = 0;
    for (uint32_t i = journal->head; i < journal->tail; i++) {
        const struct tbfs_entry *entry = &journal->entries[i];
        if (!is_valid(journal, i))
            continue;
        if (entry->type & TBFS_ENTRY_COMMIT)
            count = 0;
        else if (entry->type & TBFS_ENTRY_START)
            *first = i, count = 1;
        else if (count && i == *first + count && entry->transaction == journal->entries[*first].transaction)
            count++;
    }
    return count;
}

static bool may_be_stored(const struct tbfs *fs, const struct tbfs_entry *entry) {
    return journal_may_hold(fs, entry->offset, entry->size);
}

static void store(struct tbfs *fs, const struct tbfs_entry *entry) {
    pm_copy(space_at(fs, entry->offset), entry->content, entry->size);
    pm_flush(space_at(fs, entry->offset), entry->size);
}

static int undo_open(struct tbfs *fs) {
    const struct tbfs_journal *journal = &fs->journal;
    uint32_t first = 0, count = find_open(journal, &first);
    for (uint32_t i = first; i < first + count; i++)
        if (!may_be_stored(fs, &journal->entries[i]))
            return -EUCLEAN;
    for (uint32_t i = first + count; i > first; i--)
        store(fs, &journal->entries[i - 1]);
    return 0;
}

/* The entries were durable before the header pointed to them, so an invalid entry is damage. */
static int redo_last(struct tbfs *fs) {
    const struct tbfs_journal *journal = &fs->journal;
    for (uint32_t i = journal->head; i < journal->tail; i++)
        if (!is_valid(journal, i) || !may_be_stored(fs, &journal->entries[i]))
            return -EUCLEAN;
    for (uint32_t i = journal->head; i < journal->tail; i++)
        store(fs, &journal->entries[i]);
    return 0;
}

/*
 * A new generation begins even if nothing was undone: entries may be durable although the tail of their transaction is
 * not. If that transaction had just wrapped around, its entries belong to the next generation, so recovery skips that
 * generation.
 */
int journal_recover(struct tbfs *fs) {
    struct tbfs_journal *journal = &fs->journal;
    attach(fs);
    if (journal->header->head > journal->tail || journal->tail > journal->capacity || journal->generation == 0 ||
        journal->header->redo > 1)
        return -EUCLEAN;
    int status = journal->redo ? redo_last(fs) : undo_open(fs);
    if (status < 0)
        return status;
    pm_fence();
    set_head(journal, journal->tail);
    journal->redo = false;
    journal->generation = next_generation(journal);
    set_tail(journal, journal->tail, next_generation(journal));
    pm_fence();
    return 0;
}
