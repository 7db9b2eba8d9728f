/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * One store of an 8-byte word makes an entry visible, or removes it:
 *
 *  - In a free entry, the name is written first, then the inode.
 *  - Behind an entry that is longer than its name needs, the new entry is written where no reader looks. Then the
 *    entry before it is shortened. Length, kind and the beginning of the name are one word.
 *  - To remove an entry, its inode becomes 0.
 *
 * Such a store also merges adjacent free entries, at any time and outside of transactions.
 */
#include "directory.h"

#include "../medium/journal.h"
#include "../medium/space.h"
#include "../pages/tree.h"
#include "../persist.h"
#include "inode.h"

union entry_bytes {
    struct tbfs_dirent entry;
    uint64_t words[(TBFS_DIRENT_HEAD_BYTES + TBFS_NAME_BYTES_MAX + 7) / 8];
};

static unsigned bytes_for(size_t name_bytes) { return (unsigned)(TBFS_DIRENT_HEAD_BYTES + name_bytes + 7) / 8 * 8; }

static bool is_sound(const struct tbfs *fs, const struct tbfs_dirent *entry, unsigned room) {
    unsigned needed = bytes_for(entry->inode ? entry->name_bytes : 0);
    return entry->bytes % 8 == 0 && entry->bytes >= needed && entry->bytes <= room &&
           entry->inode < fs->super->inode_count && (!entry->inode || entry->name_bytes);
}

int directory_check_name(struct tbfs_name name) {
    if (name.bytes > TBFS_NAME_BYTES_MAX)
        return -ENAMETOOLONG;
    bool is_dots = name.bytes <= 2 && memcmp(name.text, "..", name.bytes) == 0;
    return is_dots || memchr(name.text, '/', name.bytes) || memchr(name.text, 0, name.bytes) ? -EINVAL : 0;
}

int directory_next(const struct tbfs *fs, const struct tbfs_inode *dir, uint64_t *position,
                   struct tbfs_dirent **entry) {
    unsigned at = *position % TBFS_BLOCK_BYTES;
    if (*position >= dir->size)
        return 0;
    uint64_t block = tree_get(fs, dir, *position / TBFS_BLOCK_BYTES);
    if (!block || at % 8 || TBFS_BLOCK_BYTES - at < bytes_for(0))
        return -EUCLEAN;
    *entry = space_at(fs, block + at);
    if (!is_sound(fs, *entry, TBFS_BLOCK_BYTES - at))
        return -EUCLEAN;
    *position += (*entry)->bytes;
    return 1;
}

int directory_find(const struct tbfs *fs, const struct tbfs_inode *dir, struct tbfs_name name,
                   struct tbfs_dirent **entry) {
    uint64_t position = 0;
    int status;
    while ((status = directory_next(fs, dir, &position, entry)) > 0)
        if ((*entry)->inode && (*entry)->name_bytes == name.bytes && memcmp((*entry)->name, name.text, name.bytes) == 0)
            return 0;
    return status < 0 ? status : -ENOENT;
}

int directory_is_empty(const struct tbfs *fs, const struct tbfs_inode *dir) {
    struct tbfs_dirent *entry;
    uint64_t position = 0;
    int status;
    while ((status = directory_next(fs, dir, &position, &entry)) > 0)
        if (entry->inode)
            return 0;
    return status < 0 ? status : 1;
}

/* The second word of an entry, with another length. */
static uint64_t word_with_bytes(const struct tbfs_dirent *entry, unsigned bytes) {
    struct tbfs_dirent changed = *entry;
    uint64_t word;
    changed.bytes = (uint16_t)bytes;
    memcpy(&word, &changed.bytes, sizeof(word));
    return word;
}

/* Merges a free entry with the free entries after it, up to the end of its block. `behind` is the position behind the
 * entry. A name is written over the heads of these entries next, perhaps in another line. So the length that hides them
 * must be durable before. */
static void absorb(struct tbfs *fs, const struct tbfs_inode *dir, struct tbfs_dirent *entry, uint64_t behind) {
    const unsigned before = entry->bytes;
    struct tbfs_dirent *next;
    while (!entry->inode && behind % TBFS_BLOCK_BYTES && directory_next(fs, dir, &behind, &next) > 0 && !next->inode) {
        if (!journal_yield(fs, space_offset(fs, &entry->bytes), sizeof(uint64_t)))
            return;
        pm_store8(&entry->bytes, word_with_bytes(entry, (unsigned)entry->bytes + next->bytes));
        pm_flush(&entry->bytes, sizeof(uint64_t));
    }
    if (entry->bytes != before)
        pm_fence();
}

/* Writes an entry where no reader looks yet. Bytes before `from` stay unchanged. */
static void write_unseen(struct tbfs *fs, void *place, const union entry_bytes *entry, unsigned from) {
    unsigned bytes = bytes_for(entry->entry.name_bytes);
    if (!journal_yield(fs, space_offset(fs, place) + from, bytes - from))
        return;
    pm_copy((uint8_t *)place + from, (const uint8_t *)entry + from, bytes - from);
    pm_flush(place, bytes);
    tx_new_bytes(fs);
}

static void fill(struct tbfs *fs, struct tbfs_dirent *room, union entry_bytes *entry) {
    unsigned used = bytes_for(room->name_bytes);
    if (!room->inode) {
        entry->entry.bytes = room->bytes;
        write_unseen(fs, room, entry, sizeof(uint64_t));
        tx_write8(fs, &room->inode, entry->entry.inode);
    } else {
        entry->entry.bytes = (uint16_t)(room->bytes - used);
        write_unseen(fs, (uint8_t *)room + used, entry, 0);
        tx_write8(fs, &room->bytes, word_with_bytes(room, used));
    }
}

static int append_block(struct tbfs *fs, struct tbfs_inode *dir, union entry_bytes *entry) {
    uint64_t block = tx_take_block(fs, 0);
    if (!block)
        return -ENOSPC;
    entry->entry.bytes = TBFS_BLOCK_BYTES;
    write_unseen(fs, space_at(fs, block), entry, 0);
    int status = tree_put(fs, dir, dir->size / TBFS_BLOCK_BYTES, block);
    dir->size += TBFS_BLOCK_BYTES;
    return status;
}

int directory_insert(struct tbfs *fs, uint64_t dir_ino, struct tbfs_name name, uint64_t ino) {
    struct tbfs_inode *dir = tx_inode(fs, dir_ino);
    union entry_bytes entry = {.entry = {.inode = ino, .name_bytes = (uint8_t)name.bytes}};
    struct tbfs_dirent *room;
    uint64_t position = 0;
    int status;
    entry.entry.type = (uint8_t)(tx_inode(fs, ino)->mode >> 12);
    memcpy((char *)&entry + TBFS_DIRENT_HEAD_BYTES, name.text, name.bytes);
    while ((status = directory_next(fs, dir, &position, &room)) > 0) {
        absorb(fs, dir, room, position);
        if (room->bytes >= bytes_for(name.bytes) + (room->inode ? bytes_for(room->name_bytes) : 0)) {
            fill(fs, room, &entry);
            return 0;
        }
    }
    return status < 0 ? status : append_block(fs, dir, &entry);
}

void directory_remove(struct tbfs *fs, struct tbfs_dirent *entry) { tx_write8(fs, &entry->inode, 0); }

void directory_replace(struct tbfs *fs, struct tbfs_dirent *entry, uint64_t ino) {
    struct tbfs_dirent changed = *entry;
    changed.inode = ino;
    changed.type = (uint8_t)(tx_inode(fs, ino)->mode >> 12);
    tx_write(fs, entry, &changed, sizeof(changed));
}

int tbfs_readdir_seek(struct tbfs *fs, uint64_t ino, uint64_t *position) {
    const struct tbfs_inode *dir;
    struct tbfs_dirent *entry;
    uint64_t at = *position - *position % TBFS_BLOCK_BYTES;
    int status = inode_find_directory(fs, ino, &dir);
    if (status < 0)
        return status;
    do
        status = at < *position ? directory_next(fs, dir, &at, &entry) : 0;
    while (status > 0);
    *position = at;
    return status;
}

int tbfs_readdir(struct tbfs *fs, uint64_t ino, uint64_t *position, struct tbfs_listed *listed) {
    const struct tbfs_inode *dir;
    struct tbfs_dirent *entry;
    int status = inode_find_directory(fs, ino, &dir);
    if (status < 0)
        return status;
    do {
        status = directory_next(fs, dir, position, &entry);
    } while (status > 0 && !entry->inode);
    if (status > 0)
        *listed = (struct tbfs_listed){entry->inode, entry->type, {entry->name, entry->name_bytes}};
    return status;
}
