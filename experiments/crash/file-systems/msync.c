/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two accounts on two pages of a mapped file: a transfer between them, then msync(), which promises that both are
 * durable when it returns, and nothing before.
 *
 *     msync FILE       a transfer; mark 0 before it, mark 1 after
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "testbed_roi.h"

enum { PAGE_BYTES = 4096, BYTES = 2 * PAGE_BYTES, AMOUNT = 30 };

int main(int argc, char **argv) {
    int fd = argc > 1 ? open(argv[1], O_RDWR) : -1;
    volatile uint8_t *file = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED) {
        perror("msync");
        return 2;
    }
    volatile uint64_t *from = (volatile uint64_t *)file, *to = (volatile uint64_t *)(file + PAGE_BYTES);
    *from = 100; /* the changes of the file system by the first page faults come before the transfer */
    *to = 0;
    msync((void *)file, BYTES, MS_SYNC);
    testbed_mark(0);
    *from -= AMOUNT;
    *to += AMOUNT;
    msync((void *)file, BYTES, MS_SYNC);
    testbed_mark(1);
    return 0;
}
