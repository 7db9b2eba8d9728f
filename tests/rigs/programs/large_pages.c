/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *     large_pages FILE...    stores to each page of each file through a mapping; prints the number of page faults
 *
 * There is one fault for 2 MiB if a process has them as one page.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

static long faults_so_far(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* -1: the file cannot be mapped. */
static long faults_of(const char *path) {
    struct stat status;
    int fd = open(path, O_RDWR);
    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    volatile char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED)
        return -1;
    long before = faults_so_far();
    for (off_t at = 0; at < status.st_size; at += PAGE)
        bytes[at] = 1;
    return faults_so_far() - before;
}

int main(int argc, char **argv) {
    faults_so_far(); /* maps the program's own pages */
    for (int i = 1; i < argc; i++) {
        long faults = faults_of(argv[i]);
        if (faults < 0) {
            perror(argv[i]);
            return 1;
        }
        printf("%ld faults\n", faults);
    }
    return 0;
}
