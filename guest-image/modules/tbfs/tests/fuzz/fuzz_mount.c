/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A damaged medium. The first byte of the input selects the options of the mount and the metadata policy of the medium;
 * with bit 0 both superblocks get a correct checksum again. Then come pieces of damage: a region, a place in it, five
 * bytes. A mount fails, or every later call works or fails. A medium in which the checker finds no fault can be read
 * completely.
 */
#include <stdio.h>
#include <stdlib.h>

#include "medium/crc32c.h"
#include "tbfs.h"

enum { BLOCKS = 64, INODES = 24, BYTES = BLOCKS * TBFS_BLOCK_BYTES, CALLS_MAX = 2000 };

static _Alignas(TBFS_BLOCK_BYTES) uint8_t sounds[2][BYTES], damaged[BYTES]; /* by metadata policy */
static uint64_t memory[64 + BYTES / sizeof(struct tbfs_inode) / 64];
static const struct tbfs_caller caller = {1, 2, 3000};

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size);

static void must(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static struct tbfs_name name(const char *text) { return (struct tbfs_name){text, strlen(text)}; }

static uint64_t create(struct tbfs *fs, uint64_t dir, const char *text, uint16_t mode) {
    struct tbfs_new what = {.mode = mode, .target = name("target")};
    uint64_t ino = 0;
    tbfs_create(fs, dir, name(text), &what, &caller, &ino);
    return ino;
}

/* Makes a medium with a file of two levels, logs of one and of two blocks, a file on the truncate list, and a
 * transaction that recovery must undo or store again. */
static void make_sound(enum tbfs_metadata metadata) {
    uint8_t *sound = sounds[metadata];
    struct tbfs_space space = {sound, BYTES};
    struct tbfs_layout layout = {.inode_count = INODES};
    struct tbfs_options options = {TBFS_DATA_HYBRID, 16, {.log_block_bytes = 512}, metadata, NULL};
    static struct tbfs fs;
    uint64_t orphan;
    must(tbfs_make(space, &layout, 1) == 0 && tbfs_mount(&fs, space, &options, memory) == 0, "no file system");
    uint64_t dir = create(&fs, TBFS_ROOT_INODE, "dir", S_IFDIR | 0755), file = create(&fs, dir, "file", S_IFREG | 0644);
    create(&fs, dir, "link", S_IFLNK | 0777);
    create(&fs, create(&fs, dir, "below", S_IFDIR | 0700), "deep", S_IFREG | 0600);
    for (unsigned i = 0; i < 20; i++)
        tbfs_write(&fs, file, i * 5, "content of many bytes", 21, 2);
    tbfs_write(&fs, file, 8192, sound, TBFS_BLOCK_BYTES, 2);
    tbfs_write(&fs, file, 8200, "content", 7, 2);
    tbfs_write(&fs, file, 700 * TBFS_BLOCK_BYTES, "content", 7, 2);
    tbfs_write(&fs, create(&fs, TBFS_ROOT_INODE, "gone", S_IFREG | 0644), 9000, "content", 7, 2);
    tbfs_unlink(&fs, TBFS_ROOT_INODE, name("gone"), 2, &orphan);
    must(orphan && tbfs_link(&fs, file, TBFS_ROOT_INODE, name("linked"), 2) == 0, "nothing has happened");
    if (metadata == TBFS_METADATA_UNDO)
        fs.journal.entries[fs.journal.tail - 1].generation = 0;
    must(fs.journal.redo == (metadata == TBFS_METADATA_LOG), "nothing is to be stored again");
}

static void damage(const uint8_t *input, size_t size) {
    const struct tbfs_super *super = (const struct tbfs_super *)sounds[0];
    const uint64_t begins[] = {0, TBFS_BLOCK_BYTES, super->journal_offset, super->inode_offset, super->data_offset};
    const uint64_t lengths[] = {192, 192, 4096, INODES * sizeof(struct tbfs_inode), BYTES - super->data_offset};
    for (; size >= 8; input += 8, size -= 8) {
        uint64_t place = (uint64_t)input[1] << 8 | input[2], region = input[0] % 5;
        for (uint64_t i = 0; i < 5; i++)
            damaged[begins[region] + (place + i) % lengths[region]] = input[3 + i];
    }
}

static void seal(uint8_t *base) {
    struct tbfs_super *super = (struct tbfs_super *)base;
    super->checksum = 0;
    super->checksum = crc32c(super, TBFS_SUPER_STATIC_BYTES);
}

/* The number of calls that found damage. */
static unsigned read_inode(struct tbfs *fs, uint64_t ino, unsigned *calls);

static unsigned read_directory(struct tbfs *fs, uint64_t ino, unsigned *calls) {
    struct tbfs_listed entry;
    uint64_t position = 0;
    unsigned errors = 0;
    int status = 0;
    while (*calls < CALLS_MAX && (status = tbfs_readdir(fs, ino, &position, &entry)) > 0) {
        uint64_t found = 0;
        errors += tbfs_lookup(fs, ino, entry.name, &found) < 0 || found != entry.ino;
        errors += read_inode(fs, entry.ino, calls);
    }
    return errors + (status < 0);
}

static unsigned read_inode(struct tbfs *fs, uint64_t ino, unsigned *calls) {
    struct tbfs_inode inode;
    char bytes[100];
    ++*calls;
    if (tbfs_inode_get(fs, ino, &inode) < 0)
        return 1;
    if (S_ISDIR(inode.mode))
        return *calls < CALLS_MAX ? read_directory(fs, ino, calls) : 0;
    if (!S_ISREG(inode.mode) && !S_ISLNK(inode.mode))
        return 0;
    return tbfs_read(fs, ino, 0, bytes, sizeof(bytes)) < 0 || tbfs_read(fs, ino, inode.size / 2, bytes, 100) < 0 ||
           tbfs_read(fs, ino, 8150, bytes, sizeof(bytes)) < 0;
}

/* Each kind of call once, on files that have a name. */
static void change(struct tbfs *fs) {
    uint64_t dir = TBFS_ROOT_INODE, ino, orphan;
    create(fs, dir, "new", S_IFREG | 0644);
    tbfs_lookup(fs, dir, name("dir"), &dir);
    tbfs_rename(fs, (struct tbfs_place){dir, name("below")}, (struct tbfs_place){1, name("moved")}, 0, 3, &orphan);
    tbfs_rename(fs, (struct tbfs_place){1, name("new")}, (struct tbfs_place){dir, name("link")}, 0, 3, &orphan);
    if (orphan)
        tbfs_evict(fs, orphan, 3);
    if (tbfs_lookup(fs, dir, name("file"), &ino) == 0) {
        tbfs_write(fs, ino, 5000, "more", 4, 3);
        tbfs_write(fs, ino, 33, "more", 4, 3);
        tbfs_merge(fs, ino, 0, 5000);
        tbfs_fallocate(fs, ino, TBFS_KEEP_SIZE | TBFS_PUNCH_HOLE, 0, 5000, 3);
        tbfs_truncate(fs, ino, 100, 3);
        tbfs_link(fs, ino, dir, name("again"), 3);
    }
    if (tbfs_unlink(fs, dir, name("file"), 3, &orphan) == 0 && orphan)
        tbfs_evict(fs, orphan, 3);
    if (tbfs_rmdir(fs, TBFS_ROOT_INODE, name("moved"), 3, &orphan) == 0)
        tbfs_evict(fs, orphan, 3);
}

static void ignore(void *context, const struct tbfs_fault *fault) {
    (void)context;
    (void)fault;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    static struct tbfs fs;
    struct tbfs_space space = {damaged, BYTES};
    unsigned calls = 0;
    if (sounds[0][0] == 0)
        make_sound(TBFS_METADATA_UNDO), make_sound(TBFS_METADATA_LOG);
    if (size < 1)
        return 0;
    const uint8_t *sound = sounds[input[0] >> 6 & 1];
    struct tbfs_options options = {input[0] & 2 ? TBFS_DATA_COW : TBFS_DATA_INPLACE,
                                   input[0] & 4 ? 8 : 64,
                                   {0},
                                   input[0] & 128 ? TBFS_METADATA_LOG : TBFS_METADATA_UNDO,
                                   NULL};
    if (input[0] & 8) {
        options.data = TBFS_DATA_HYBRID;
        options.hybrid = (struct tbfs_hybrid){.log_block_bytes = 1024, .gc_read_bytes = input[0] & 16 ? 1 : 0};
        options.hybrid.read = input[0] & 32 ? TBFS_READ_FORWARD : TBFS_READ_REVERSE;
    }
    memcpy(damaged, sound, BYTES);
    damage(input + 1, size - 1);
    if (input[0] & 1)
        seal(damaged), seal(damaged + TBFS_BLOCK_BYTES);
    bool is_sound = memcmp(damaged, sound, TBFS_SUPER_STATIC_BYTES) == 0;
    bool copy_is_sound = memcmp(damaged + TBFS_BLOCK_BYTES, sound, TBFS_SUPER_STATIC_BYTES) == 0;
    int64_t needed = tbfs_memory_bytes(space);
    must(needed < 0 || is_sound || copy_is_sound || input[0] & 1, "a damaged superblock was believed");
    must(needed <= (int64_t)sizeof(memory), "it wants too much memory");
    if (needed < 0 || tbfs_mount(&fs, space, &options, memory) < 0)
        return 0;
    void *room = malloc(tbfs_check_memory_bytes(&fs));
    uint64_t faults = tbfs_check(&fs, room, ignore, NULL);
    free(room);
    unsigned errors = read_inode(&fs, TBFS_ROOT_INODE, &calls);
    must(faults || !errors, "what has no fault cannot be read");
    change(&fs);
    read_inode(&fs, TBFS_ROOT_INODE, &calls);
    return 0;
}
