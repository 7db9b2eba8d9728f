/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A record of one line by non-temporal stores: seven words, and one that makes it valid.
 * nt make FILE | nt run FILE [fence] | nt check FILE: `fence` makes the words durable before the last one is stored.
 */
#include <emmintrin.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { WORDS = 8, VALUE = 7, VALID = 1, OTHER_LINE = 64 };

static int make(int fd) {
    static const char zeros[4096];

    return write(fd, zeros, sizeof zeros) != sizeof zeros || fsync(fd) != 0;
}

static void run(long long *record, int with_fence) {
    _mm_stream_si64(record + OTHER_LINE, 1); /* the page is mapped for writing before the first mark */
    _mm_sfence();
    testbed_mark(0);
    for (int word = 1; word < WORDS; word++) {
        _mm_stream_si64(record + word, VALUE);
    }
    if (with_fence) {
        _mm_sfence();
    }
    _mm_stream_si64(record, VALID);
    _mm_sfence();
    testbed_mark(1);
    testbed_mark(2);
}

static int check(const long long *record) {
    for (int word = 1; record[0] == VALID && word < WORDS; word++) {
        if (record[word] != VALUE) {
            fprintf(stderr, "the record is valid, but its word %d is missing\n", word);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    int fd = argc > 2 ? open(argv[2], O_RDWR | O_CREAT, 0644) : -1;

    if (fd < 0) {
        return 2;
    }
    if (!strcmp(argv[1], "make")) {
        return make(fd);
    }
    long long *record = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (record == MAP_FAILED) {
        perror(argv[2]);
        return 2;
    }
    if (!strcmp(argv[1], "check")) {
        return check(record);
    }
    run(record, argc > 3);
    return 0;
}
