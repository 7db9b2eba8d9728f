// SPDX-License-Identifier: BSD-3-Clause
// take-job: ring the doorbell for the guest's job, then write the job that the host has left in fw_cfg to standard
// output; nothing if there is no job. For the guest's init, as root.
//
// fw_cfg is QEMU's device for such files. It has a directory (selector 0x19), and transfers data into the guest's
// memory by the physical address of a descriptor. All numbers are big-endian (QEMU's docs/specs/fw_cfg). Linux's driver
// would read a file byte by byte, and for each page again from the file's beginning.
#include "testbed_roi.h"

#include <endian.h>
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mman.h>
#include <unistd.h>

#define JOB "opt/testbed/job"

enum { PORT_FIRST = 0x510, PORTS = 12, PORT_DMA_HIGH = 0x514, PORT_DMA_LOW = 0x518 };
enum { SELECT_DIRECTORY = 0x19 };
enum { DMA_READ = 2, DMA_SELECT = 8, DMA_SELECTOR_SHIFT = 16 };

struct dma {
    uint32_t control, length;
    uint64_t address;
};

struct file {
    uint32_t size;
    uint16_t select, reserved;
    char name[56];
};

// One locked page each, because contiguous virtual memory need not be contiguous in physical memory.
static volatile struct dma *descriptor;
static unsigned char *page;
static uint64_t descriptor_address, page_address;
static size_t page_bytes;

static uint64_t physical_address(const void *virtual_address) {
    uint64_t entry = 0;
    int pagemap = open("/proc/self/pagemap", O_RDONLY);
    off_t where = (off_t)((uintptr_t)virtual_address / page_bytes * sizeof entry);
    if (pagemap < 0 || pread(pagemap, &entry, sizeof entry, where) != sizeof entry)
        err(EXIT_FAILURE, "/proc/self/pagemap");
    close(pagemap);
    return (entry & ((UINT64_C(1) << 55) - 1)) * page_bytes; // bits 0 to 54: the page frame
}

static void *locked_page(uint64_t *address) {
    void *memory = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED, -1, 0);
    if (memory == MAP_FAILED)
        err(EXIT_FAILURE, "mmap");
    memset(memory, 0, page_bytes);
    *address = physical_address(memory);
    return memory;
}

// Reads the next bytes, at most a page, of the file that was selected last; with `select`, of that file from its
// beginning.
static void read_next(uint32_t select, size_t bytes) {
    descriptor->control = htobe32(DMA_READ | (select ? DMA_SELECT | select << DMA_SELECTOR_SHIFT : 0));
    descriptor->length = htobe32((uint32_t)bytes);
    descriptor->address = htobe64(page_address);
    outl(htobe32((uint32_t)(descriptor_address >> 32)), PORT_DMA_HIGH);
    outl(htobe32((uint32_t)descriptor_address), PORT_DMA_LOW); // the transfer takes place here
    if (descriptor->control)
        errx(EXIT_FAILURE, "fw_cfg: the transfer failed");
}

static bool find_job(struct file *found) {
    uint32_t count;
    read_next(SELECT_DIRECTORY, sizeof count);
    memcpy(&count, page, sizeof count);
    for (uint32_t i = 0; i < be32toh(count); i++) {
        read_next(0, sizeof *found);
        memcpy(found, page, sizeof *found);
        if (!strncmp(found->name, JOB, sizeof found->name))
            return true;
    }
    return false;
}

int main(void) {
    struct file job;
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (ioperm(PORT_FIRST, PORTS, 1))
        err(EXIT_FAILURE, "ioperm");
    descriptor = locked_page(&descriptor_address);
    page = locked_page(&page_address);
    testbed_ring(TESTBED_OP_AWAIT_JOB, 0);
    if (!find_job(&job))
        return EXIT_SUCCESS;
    uint32_t select = be16toh(job.select);
    for (size_t left = be32toh(job.size); left; select = 0) {
        size_t bytes = left < page_bytes ? left : page_bytes;
        read_next(select, bytes);
        if (fwrite(page, 1, bytes, stdout) != bytes)
            err(EXIT_FAILURE, "standard output");
        left -= bytes;
    }
    if (fflush(stdout))
        err(EXIT_FAILURE, "standard output");
    return EXIT_SUCCESS;
}
