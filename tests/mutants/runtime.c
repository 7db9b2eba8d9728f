/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linked to every program built from mutated sources. MUTANT=N switches one site; MUTANT_REACHED=FILE records the sites
 * that a run reaches, in shared memory, so that forked and killed processes count too.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SITES_MAX = 65536 };
static unsigned char unrecorded[SITES_MAX];
unsigned char *mutant_reached = unrecorded;
int mutant_chosen = -1;

__attribute__((constructor(101))) static void choose(void) {
    const char *number = getenv("MUTANT"), *path = getenv("MUTANT_REACHED");
    if (number)
        mutant_chosen = atoi(number);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *file = mmap(NULL, SITES_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (file != MAP_FAILED)
        mutant_reached = file;
}
