/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tbfs make IMAGE [INODES]    makes a new file system
 * tbfs check IMAGE            reports the faults of one; exit status 1 if it has a fault
 * tbfs dump IMAGE             lists its content, with a line for each name
 *
 * check and dump leave the image unchanged: they perform the recovery of a mount in memory. Exit status 2: the command
 * failed, and one sentence says why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "image.h"
#include "medium/crc32c.h"

static int fail(const char *path, int status) {
    static const struct {
        int status;
        const char *words;
    } known[] = {{-EINVAL, "holds no tbfs"},
                 {-EPROTONOSUPPORT, "holds a tbfs of another version"},
                 {-EUCLEAN, "holds a tbfs that is damaged so that it cannot be mounted"},
                 {-ENOSPC, "has no room for a tbfs of so many inodes"}};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].status == status)
            return fprintf(stderr, "tbfs: %s %s\n", path, known[i].words), 2;
    return fprintf(stderr, "tbfs: %s: %s\n", path, strerror(-status)), 2;
}

static int mount_image(struct tbfs *fs, struct tbfs_space space) {
    struct tbfs_options options = {.data = TBFS_DATA_INPLACE, .atomic_bytes = 8};
    int64_t bytes = tbfs_memory_bytes(space);
    if (bytes < 0)
        return (int)bytes;
    void *memory = malloc((size_t)bytes); /* used until the program ends */
    return memory ? tbfs_mount(fs, space, &options, memory) : -ENOMEM;
}

/* 0: not a number of inodes. */
static uint64_t count_of(const char *text) {
    bool is_number = *text && strspn(text, "0123456789") == strlen(text);
    errno = 0;
    uint64_t count = is_number ? strtoull(text, NULL, 10) : 0;
    return errno ? 0 : count;
}

static int make(struct tbfs_space space, uint64_t inodes) {
    struct tbfs_layout layout = {.inode_count = inodes};
    return tbfs_make(space, &layout, (uint32_t)time(NULL));
}

static void tell(void *context, const struct tbfs_fault *fault) {
    (void)context;
    printf("inode %lu: %s: %lu\n", fault->ino, fault->what, fault->number);
}

static int check(struct tbfs *fs) {
    void *memory = malloc(tbfs_check_memory_bytes(fs));
    if (!memory)
        return -ENOMEM;
    uint64_t faults = tbfs_check(fs, memory, tell, NULL);
    free(memory);
    return faults > 0;
}

/* A checksum of the file's bytes, block by block: each sum includes the previous one. */
static uint32_t checksum_of(struct tbfs *fs, uint64_t ino) {
    uint32_t sums[1 + TBFS_BLOCK_BYTES / sizeof(uint32_t)] = {0};
    int64_t bytes;
    for (uint64_t at = 0; (bytes = tbfs_read(fs, ino, at, sums + 1, TBFS_BLOCK_BYTES)) > 0; at += (uint64_t)bytes)
        sums[0] = crc32c(sums, sizeof(sums[0]) + (size_t)bytes);
    return sums[0];
}

/* The number of pages with a log. */
static uint64_t logs_of(struct tbfs *fs, uint64_t ino, uint64_t size) {
    struct tbfs_extent extent;
    uint64_t logs = 0;
    for (uint64_t at = 0; at < size && tbfs_find_extent(fs, ino, at, size - at, &extent) == 0; at += extent.bytes)
        logs += extent.has_log;
    return logs;
}

static int dump_directory(struct tbfs *fs, uint64_t dir, const char *path, unsigned depth) {
    struct tbfs_listed entry;
    int status = depth > 1000 ? -EUCLEAN : 0;
    uint64_t position = 0;
    while (status == 0 && (status = tbfs_readdir(fs, dir, &position, &entry)) > 0) {
        struct tbfs_inode inode;
        char below[4096];
        snprintf(below, sizeof(below), "%s/%.*s", path, (int)entry.name.bytes, entry.name.text);
        status = tbfs_inode_get(fs, entry.ino, &inode);
        if (status < 0)
            return status;
        printf("%06o links %u owner %u:%u size %lu blocks %lu logs %lu sum %08x inode %lu %s\n", inode.mode,
               inode.links, inode.uid, inode.gid, inode.size, inode.blocks, logs_of(fs, entry.ino, inode.size),
               checksum_of(fs, entry.ino), entry.ino, below);
        if (S_ISDIR(inode.mode))
            status = dump_directory(fs, entry.ino, below, depth + 1);
    }
    return status;
}

static int dump(struct tbfs *fs) {
    struct tbfs_statfs room;
    tbfs_statfs(fs, &room);
    printf("blocks %lu free %lu inodes %lu free %lu\n", room.blocks, room.blocks_free, room.inodes, room.inodes_free);
    return dump_directory(fs, TBFS_ROOT_INODE, "", 0);
}

int main(int argc, char **argv) {
    const char *verb = argc > 2 ? argv[1] : "";
    bool makes = strcmp(verb, "make") == 0, checks = strcmp(verb, "check") == 0;
    if (!(makes && argc <= 4) && !((checks || strcmp(verb, "dump") == 0) && argc == 3))
        return fputs("usage: tbfs make IMAGE [INODES] | check IMAGE | dump IMAGE\n", stderr), 2;
    uint64_t inodes = argc > 3 ? count_of(argv[3]) : 0;
    if (argc > 3 && !inodes)
        return fprintf(stderr, "tbfs: '%s' is no number of inodes; give one such as 4096\n", argv[3]), 2;
    struct tbfs_space space;
    static struct tbfs fs;
    int status = image_open(argv[2], makes ? IMAGE_CHANGE : IMAGE_LOOK, &space);
    if (status < 0)
        return fail(argv[2], status);
    status = makes ? make(space, inodes) : mount_image(&fs, space);
    if (status == 0 && !makes)
        status = checks ? check(&fs) : dump(&fs);
    if (status == 0 && makes)
        status = image_close(&space);
    return status < 0 ? fail(argv[2], status) : status;
}
