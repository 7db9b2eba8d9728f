/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two accounts with a constant sum, whatever happens in between: transfer POOL AMOUNT. A transfer that would
 * overdraw is taken back with MS_INVALIDATE, after it has been written.
 *
 *     snapcc transfer.c -o transfer && SNAPSHOT_DIR=/pmem ./transfer /pmem/accounts 30
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define POOL_BYTES 8192

struct accounts {
    long from;
    char on_another_page[4096];
    long to;
};

static struct accounts *accounts_open(const char *path) {
    struct stat status;
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || fstat(fd, &status) < 0 || (status.st_size == 0 && ftruncate(fd, POOL_BYTES) < 0))
        return NULL;
    void *pool = mmap(NULL, POOL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return pool == MAP_FAILED ? NULL : pool;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return fputs("usage: transfer POOL AMOUNT\n", stderr), 2;
    struct accounts *accounts = accounts_open(argv[1]);
    if (!accounts)
        return perror(argv[1]), 2;
    if (accounts->from + accounts->to == 0)
        accounts->from = 100; /* a new pool */
    accounts->from -= atol(argv[2]);
    accounts->to += atol(argv[2]);
    int how = accounts->from < 0 ? MS_INVALIDATE : MS_SYNC;
    if (msync(accounts, POOL_BYTES, how) < 0)
        return perror("msync"), 1;
    printf("%ld %ld\n", accounts->from, accounts->to);
    return how == MS_SYNC ? 0 : 1;
}
