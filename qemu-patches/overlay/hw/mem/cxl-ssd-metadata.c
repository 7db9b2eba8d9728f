/*
 * CXL memory-semantic SSD: the state of the device besides its content, stored
 * in the backing file behind the capacity:
 *
 *     capacity         header, in a block of its own
 *     + 4096           state of the flash, as the model saves it
 *     behind that      the list of poison
 *
 * A memory backend that is not a shared file stores nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/bswap.h"
#include "qemu/crc32c.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "exec/cpu-common.h"
#include "exec/ramblock.h"
#include "exec/timed-mem.h"
#include "cxl-ssd-internal.h"
#include "qapi/error.h"
#include "system/hostmem.h"

#define METADATA_VERSION 1
#define METADATA_BLOCK_BYTES 4096

static const char metadata_magic[8] = "CXLSSDMD";

/* Little-endian. */
typedef struct MetadataHeader {
    char magic[8];
    uint32_t version;
    uint32_t dirty;             /* the shutdown state */
    uint64_t capacity_bytes;    /* of the persistent part */
    uint32_t dirty_shutdowns;
    uint32_t kept_crc;          /* of flash and poison */
    uint64_t flash_bytes;       /* 0: none */
    uint32_t poison_records;
    uint32_t crc;               /* of all fields before */
} QEMU_PACKED MetadataHeader;

/* Where the metadata is; false if the backend is not a shared file. */
static bool metadata_file(CXLSSDState *s, int *fd, uint64_t *offset)
{
    HostMemoryBackend *backend = CXL_TYPE3(s)->hostpmem;
    RAMBlock *block;

    if (!backend || !backend->share) {
        return false;
    }
    block = host_memory_backend_get_memory(backend)->ram_block;
    *fd = qemu_ram_get_fd(block);
    *offset = block->fd_offset + s->config.capacity_bytes -
              s->config.volatile_bytes;
    return *fd >= 0;
}

static char *file_name(CXLSSDState *s)
{
    char *name = object_property_get_str(OBJECT(CXL_TYPE3(s)->hostpmem),
                                         "mem-path", NULL);

    return name ? name : g_strdup("the persistent memory");
}

static uint32_t header_crc(const MetadataHeader *header)
{
    return crc32c(0xffffffff, (const uint8_t *)header,
                  offsetof(MetadataHeader, crc));
}

static uint32_t kept_crc(CXLSSDState *s)
{
    return crc32c(0xffffffff, s->kept->data, s->kept->len);
}

static uint64_t kept_flash_bytes(CXLSSDState *s)
{
    return s->kept->len - s->kept_poison * sizeof(CXLSSDPoisonRecord);
}

/* NULL, or the fault of the header. */
static const char *header_fault(CXLSSDState *s, const MetadataHeader *header)
{
    if (memcmp(header->magic, metadata_magic, sizeof(metadata_magic))) {
        return "is none of this device";
    }
    if (le32_to_cpu(header->crc) != header_crc(header)) {
        return "does not have its checksum";
    }
    if (le32_to_cpu(header->version) != METADATA_VERSION) {
        return "is of a version that this QEMU does not know";
    }
    if (le64_to_cpu(header->capacity_bytes) !=
        s->config.capacity_bytes - s->config.volatile_bytes) {
        return "is of a device of another capacity";
    }
    return NULL;
}

/* Read the flash state and the poison that the header describes. */
static const char *kept_read(CXLSSDState *s, int fd, uint64_t offset,
                             uint64_t file_bytes, const MetadataHeader *header)
{
    uint64_t bytes = le64_to_cpu(header->flash_bytes);

    s->kept_poison = le32_to_cpu(header->poison_records);
    if (bytes <= UINT32_MAX) {
        bytes += s->kept_poison * sizeof(CXLSSDPoisonRecord);
    }
    if (bytes > UINT32_MAX ||
        offset + METADATA_BLOCK_BYTES + bytes > file_bytes) {
        return "is cut short";
    }
    g_byte_array_set_size(s->kept, bytes);
    if (pread(fd, s->kept->data, bytes, offset + METADATA_BLOCK_BYTES) !=
        bytes || kept_crc(s) != le32_to_cpu(header->kept_crc)) {
        return "does not have the checksum of the flash's state and poison";
    }
    return NULL;
}

/* Read the header, flash state and poison; a new file has a zero header. */
static bool header_read(CXLSSDState *s, int fd, uint64_t offset,
                        MetadataHeader *header, Error **errp)
{
    g_autofree char *name = file_name(s);
    const char *fault = NULL;
    struct stat st;
    ssize_t length = pread(fd, header, sizeof(*header), offset);

    if (length < 0 || fstat(fd, &st)) {
        error_setg_errno(errp, errno, "cxl-ssd: cannot read %s", name);
        return false;
    }
    if (!buffer_is_zero(header, length)) {
        fault = length < sizeof(*header) ? "is cut short"
                                         : header_fault(s, header);
        if (!fault) {
            fault = kept_read(s, fd, offset, st.st_size, header);
        }
    } else if (st.st_size > offset + METADATA_BLOCK_BYTES) {
        fault = "is none of this device";
    }
    if (fault) {
        error_setg(errp, "cxl-ssd: %s: what follows byte %" PRIu64 " %s; if "
                   "that is the device's capacity, 'truncate -s %" PRIu64
                   " %s' forgets its dirty shutdowns, flash state and poison, "
                   "and keeps the content", name, offset, fault, offset, name);
        return false;
    }
    return true;
}

bool cxl_ssd_metadata_load(CXLSSDState *s, Error **errp)
{
    MetadataHeader header = { };
    uint64_t offset;
    int fd;

    s->kept = g_byte_array_new();
    if (!metadata_file(s, &fd, &offset)) {
        return true;
    }
    if (!header_read(s, fd, offset, &header, errp)) {
        return false;
    }
    s->shutdown.dirty = header.dirty;
    s->shutdown.dirty_count = le32_to_cpu(header.dirty_shutdowns);
    return true;
}

void cxl_ssd_metadata_apply(CXLSSDState *s)
{
    uint64_t flash_bytes = kept_flash_bytes(s);
    const char *fault;

    if (flash_bytes) {
        fault = memsys_flash_load(timed_mem_memsys(), s->number,
                                  s->kept->data, flash_bytes);
        if (fault) {
            warn_report("cxl-ssd: the state of the flash kept with the media "
                        "does not fit: %s; the flash is as new", fault);
        }
    }
    cxl_ssd_poison_load(s, (const void *)(s->kept->data + flash_bytes),
                        s->kept_poison);
}

void cxl_ssd_metadata_store(CXLSSDState *s)
{
    uint8_t block[METADATA_BLOCK_BYTES] = { };
    MetadataHeader *header = (MetadataHeader *)block;
    uint64_t offset;
    int fd;

    if (!metadata_file(s, &fd, &offset)) {
        return;
    }
    *header = (MetadataHeader) {
        .version = cpu_to_le32(METADATA_VERSION),
        .dirty = cpu_to_le32(s->shutdown.dirty),
        .capacity_bytes = cpu_to_le64(s->config.capacity_bytes -
                                      s->config.volatile_bytes),
        .dirty_shutdowns = cpu_to_le32(s->shutdown.dirty_count),
        .kept_crc = cpu_to_le32(kept_crc(s)),
        .flash_bytes = cpu_to_le64(kept_flash_bytes(s)),
        .poison_records = cpu_to_le32(s->kept_poison),
    };
    memcpy(header->magic, metadata_magic, sizeof(metadata_magic));
    header->crc = cpu_to_le32(header_crc(header));
    if (pwrite(fd, block, sizeof(block), offset) != sizeof(block)) {
        g_autofree char *name = file_name(s);

        error_report("cxl-ssd: cannot write the metadata of %s: %s", name,
                     strerror(errno));
    }
}

static void flash_sink(void *opaque, const void *bytes, size_t count)
{
    g_byte_array_append(opaque, bytes, count);
}

void cxl_ssd_metadata_store_all(CXLSSDState *s)
{
    uint64_t offset;
    int fd;

    if (!metadata_file(s, &fd, &offset)) {
        return;
    }
    /*
     * The file is valid at every instant: first store a header without flash
     * state and poison, then both, then a header that describes them.
     */
    g_byte_array_set_size(s->kept, 0);
    s->kept_poison = 0;
    cxl_ssd_metadata_store(s);
    memsys_flash_save(timed_mem_memsys(), s->number, flash_sink, s->kept);
    s->kept_poison = cxl_ssd_poison_save(s, s->kept);
    if (pwrite(fd, s->kept->data, s->kept->len,
               offset + METADATA_BLOCK_BYTES) == s->kept->len) {
        cxl_ssd_metadata_store(s);
    } else {
        error_report("cxl-ssd: cannot write the state of the flash and the "
                     "poison: %s", strerror(errno));
    }
}
