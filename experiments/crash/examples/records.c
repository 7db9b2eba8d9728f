/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file of records on persistent memory, with a count of those that are valid: the smallest thing that a power cut can
 * spoil. docs/howto/crash-test.md runs it.
 *
 *     records make FILE             an empty one
 *     records append FILE [BUG]     appends two; the mark after each is their number. BUG: no-flush or no-fence
 *     records check FILE COUNT      fails if there are fewer than COUNT, or one is not whole
 */
#include <fcntl.h>
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { RECORDS = 2, RECORD_BYTES = 64 };

struct file {
    _Alignas(RECORD_BYTES) volatile uint64_t count;
    struct {
        _Alignas(RECORD_BYTES) volatile uint64_t value;
    } records[RECORDS];
};

static int without_flush, without_fence;

static uint64_t value_of(uint64_t number) { return 0x1000 + number; }

static struct file *map(const char *path, int flags) {
    int fd = open(path, O_RDWR | flags, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(struct file))) {
        perror(path);
        exit(2);
    }
    void *file = mmap(NULL, sizeof(struct file), PROT_READ | PROT_WRITE, MAP_SHARED_VALIDATE | MAP_SYNC, fd, 0);
    if (file == MAP_FAILED) {
        perror(path);
        exit(2);
    }
    return file;
}

static void write_record(struct file *file, uint64_t number) {
    file->records[number].value = value_of(number);
    if (!without_flush)
        _mm_clwb((void *)&file->records[number]);
    if (!without_fence)
        _mm_sfence();
}

static void write_count(struct file *file, uint64_t count) {
    file->count = count;
    _mm_clwb((void *)&file->count);
    _mm_sfence();
}

static void make(struct file *file) {
    memset(file, 0, sizeof(*file));
    for (uint64_t number = 0; number < RECORDS; number++)
        _mm_clwb((void *)&file->records[number]);
    write_count(file, 0);
}

static void append(struct file *file) {
    testbed_mark(0);
    for (uint64_t number = 0; number < RECORDS; number++) {
        write_record(file, number);
        write_count(file, number + 1);
        testbed_mark((uint32_t)number + 1);
    }
    testbed_mark(RECORDS);
}

static int check(const struct file *file, uint64_t acknowledged) {
    if (file->count < acknowledged || file->count > RECORDS) {
        fprintf(stderr, "there are %lu records, and %lu were acknowledged\n", file->count, acknowledged);
        return 1;
    }
    for (uint64_t number = 0; number < file->count; number++) {
        if (file->records[number].value != value_of(number)) {
            fprintf(stderr, "record %lu of %lu is not whole\n", number, file->count);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    const char *verb = argc > 2 ? argv[1] : "", *more = argc > 3 ? argv[3] : "";

    without_flush = !strcmp(more, "no-flush");
    without_fence = !strcmp(more, "no-fence");
    if (!strcmp(verb, "make"))
        make(map(argv[2], O_CREAT));
    else if (!strcmp(verb, "append"))
        append(map(argv[2], 0));
    else if (!strcmp(verb, "check"))
        return check(map(argv[2], 0), strtoull(more, NULL, 0));
    else
        return 2;
    return 0;
}
