/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linked to every program built from mutated sources. MUTANT=N switches one site; MUTANT_REACHED=FILE records the sites
 * that a run reaches, in shared memory, so that forked and killed processes count too. Compiled without sanitizers:
 * neither ThreadSanitizer nor an explorer of schedules sees these loads and stores.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SITES_MAX = 65536 };
static unsigned char unrecorded[SITES_MAX];
static unsigned char *reached = unrecorded;
static int chosen = -1;

int mutant(int number);
int mutant(int number) {
    reached[number] = 1;
    return number == chosen;
}

__attribute__((constructor(101))) static void choose(void) {
    const char *number = getenv("MUTANT"), *path = getenv("MUTANT_REACHED");
    if (number)
        chosen = atoi(number);
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *file = mmap(NULL, SITES_MAX, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (file != MAP_FAILED)
        reached = file;
}
