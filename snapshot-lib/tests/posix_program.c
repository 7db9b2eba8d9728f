/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that knows only POSIX; compiled with snapcc. Each mode is one case of posix_test.py. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 8192u

static long *map(const char *path, int flags) {
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, BYTES) < 0)
        return MAP_FAILED;
    long *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);
    close(fd);
    return memory;
}

static int fails_with(int result, int error) { return result == -1 && errno == error; }

/* Everything msync, munmap and mremap refuse. */
static int errors(char *memory) {
    return !(
        fails_with(msync(memory + 1, 1, MS_SYNC), EINVAL) && fails_with(msync(memory, BYTES + 1, MS_SYNC), ENOMEM) &&
        fails_with(msync(memory, BYTES, MS_SYNC | MS_ASYNC), EINVAL) && fails_with(munmap(memory, BYTES / 2), EINVAL) &&
        fails_with(munmap(memory + BYTES / 2, BYTES / 2), EINVAL) &&
        mremap(memory, BYTES, 2 * BYTES, MREMAP_MAYMOVE) == MAP_FAILED && errno == ENOTSUP &&
        munmap(memory, BYTES) == 0);
}

int main(int argc, char **argv) {
    const char *mode = argv[1];
    int flags = strstr(mode, "plain") ? MAP_SHARED : MAP_SHARED_VALIDATE | MAP_SYNC;
    long *memory = argc == 3 ? map(argv[2], flags) : MAP_FAILED;
    if (memory == MAP_FAILED) {
        perror("map");
        return 1;
    }
    if (strstr(mode, "read"))
        return printf("%ld %ld\n", memory[0], memory[1000]) < 0;
    if (strstr(mode, "errors"))
        return errors((char *)memory);
    memory[0]++;
    memory[1000] += 10;
    if (strstr(mode, "commit") && msync(memory, BYTES, MS_SYNC) < 0)
        return 1;
    if (strstr(mode, "part") && msync(memory, 4096, MS_ASYNC) < 0) /* commits the whole file */
        return 1;
    memory[0] += 100;
    if (strstr(mode, "invalidate")) {
        if (msync(memory, BYTES, MS_INVALIDATE) < 0)
            return 1;
        return printf("%ld %ld\n", memory[0], memory[1000]) < 0;
    }
    return 0;
}
