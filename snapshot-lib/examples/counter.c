/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts its own runs, and survives any crash doing so. snapcc counter.c -o counter && SNAPSHOT_DIR=$PWD ./counter */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(void) {
    int fd = open("counter.pool", O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, 4096) < 0)
        return perror("counter.pool"), EXIT_FAILURE;
    long *runs = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (runs == MAP_FAILED)
        return perror("mmap"), EXIT_FAILURE;
    runs[0]++;
    if (msync(runs, 4096, MS_SYNC) < 0)
        return perror("msync"), EXIT_FAILURE;
    printf("run %ld\n", runs[0]);
}
