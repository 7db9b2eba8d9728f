/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mmap, munmap, mremap, msync and madvise of a program linked with libsnapshot. Calls for memory that is not tracked go
 * to the kernel unchanged. docs/reference/snapshot-calls.md has a table of the meaning of each call.
 */
#define _GNU_SOURCE
#include "posix.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/arena.h"

/* A program that maps files also gets these functions out of the archive: the only caller of some is libstdc++, which
 * cannot ask for them. */
FILE *INTERPOSED(fopen)(const char *path, const char *mode);
ssize_t INTERPOSED(sendfile)(int out, int in, off_t *at, size_t bytes);
static const void *const also[]
    __attribute__((used)) = {(const void *)INTERPOSED(fopen), (const void *)INTERPOSED(sendfile)};

static void *fail(int error) {
    errno = error;
    return MAP_FAILED;
}

static uint64_t pages_up(uint64_t bytes) { return (bytes + SNAPSHOT_PAGE - 1) / SNAPSHOT_PAGE * SNAPSHOT_PAGE; }

static uint64_t offset_of(const struct region *region, const void *address) {
    return (uint64_t)((const uint8_t *)address - region->working);
}

/* Only a file that is open for reading and writing can be tracked, because recovery writes to it. */
static bool wants_tracking(int flags, int fd, char *path) {
    if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR || !path_of(fd, path))
        return false;
    return ((flags & MAP_TYPE) == MAP_SHARED_VALIDATE && (flags & MAP_SYNC)) || is_listed(path);
}

/* A working copy without mappings can still move to the requested address. */
/* Returns 0, 1: the contents must be taken to move the file, or an error. */
static int place_look(const struct region *region, const void *hint, uint64_t bytes, int flags, uint64_t offset) {
    bool fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
    bool is_there = !fixed || hint == region->working + offset;
    bool has_room = bytes <= region->span_bytes && offset <= region->span_bytes - bytes;
    if (is_there && has_room)
        return 0;
    if (flags & MAP_FIXED && !is_there)
        return -EINVAL;
    if (region->mapping_count > 0)
        return is_there ? -ENOMEM : -EEXIST;
    return 1;
}

/* While this thread waits for the contents, another one may move or map the file. */
static int make_place(struct region *region, const void *hint, uint64_t bytes, int flags, uint64_t offset) {
    bool fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE);
    int status = place_look(region, hint, bytes, flags, offset);
    if (status <= 0)
        return status;
    contents_take_late(region);
    status = place_look(region, hint, bytes, flags, offset);
    if (status > 0)
        status = region_move(region, fixed ? (const uint8_t *)hint - offset : NULL, fixed, offset + bytes);
    contents_release(region);
    return status;
}

/* Map a range of the working copy. Its address is fixed while it has mappings: a program can only request exactly this
 * address. */
static void *map_more(struct region *region, const void *hint, uint64_t bytes, int flags, uint64_t offset) {
    int status = make_place(region, hint, bytes, flags, offset);
    if (status == 0)
        status = mapping_add(region, offset, offset + bytes);
    if (status < 0)
        return fail(-status);
    region_mapped(region);
    return region->working + offset;
}

static void *map_first(const void *hint, uint64_t bytes, int flags, int fd, uint64_t offset, const char *path) {
    struct region *region = NULL;
    if (flags & MAP_FIXED || (flags & MAP_FIXED_NOREPLACE && (uintptr_t)hint % SNAPSHOT_PAGE))
        return fail(EINVAL);
    unsigned wanted = flags & MAP_FIXED_NOREPLACE ? SNAPSHOT_FIXED : 0;
    const uint8_t *start = hint ? (const uint8_t *)hint - offset : NULL;
    int status = file_open(fd, path, wanted, start, offset + bytes, &region);
    if (status < 0)
        return fail(-status);
    if (flags & MAP_POPULATE)
        region_populate(region);
    return map_more(region, region->working + offset, bytes, 0, offset);
}

/* A private mapping shows the committed content. */
static int publish_for_reader(struct region *region) {
    contents_take_late(region);
    int status = region_publish(region);
    contents_release(region);
    return status;
}

static void *map_file(void *hint, size_t bytes, int protection, int flags, int fd, off_t offset) {
    char path[PATH_MAX];
    int type = flags & MAP_TYPE;
    bool shared = type == MAP_SHARED || type == MAP_SHARED_VALIDATE;
    USE_REGION(region, region_use(fd));
    bool is_ours = region && !region->inherited;
    int published = is_ours && !shared ? publish_for_reader(region) : 0;
    if (published < 0)
        return fail(-published);
    if (!shared || (!is_ours && !wants_tracking(flags, fd, path)))
        return kernel_mmap(hint, bytes, protection, flags, fd, offset);
    if (bytes == 0 || offset < 0 || offset % SNAPSHOT_PAGE || bytes > SIZE_MAX / 2)
        return fail(EINVAL);
    bytes = pages_up(bytes);
    return is_ours ? map_more(region, hint, bytes, flags, (uint64_t)offset)
                   : map_first(hint, bytes, flags, fd, (uint64_t)offset, path);
}

/* Hold the mutex over both the look-up and the mapping, so that no other thread ends the tracking of the file, or maps
 * it first, in between. */
void *INTERPOSED(mmap)(void *hint, size_t bytes, int protection, int flags, int fd, off_t offset) {
    if (fd < 0 || flags & MAP_ANONYMOUS)
        return kernel_mmap(hint, bytes, protection, flags, fd, offset);
    regions_lock();
    void *address = map_file(hint, bytes, protection, flags, fd, offset);
    regions_unlock();
    return address;
}

void *INTERPOSED(mmap64)(void *hint, size_t bytes, int protection, int flags, int fd, off_t offset) {
    return INTERPOSED(mmap)(hint, bytes, protection, flags, fd, offset);
}

/* True for the addresses of files and those reserved between them. A look without the lock may see parts of two spans
 * while another thread opens or closes a file, and then take the program's own memory for a file's. */
static bool is_ours(const void *address) {
    if (!arena_has(address))
        return false;
    regions_lock();
    bool result = arena_has(address);
    regions_unlock();
    return result;
}

static int unmap(void *address, size_t bytes) {
    struct region *region = region_of_span(address);
    if (!region || region->mapping_count == 0)
        return 0; /* unmapping an unmapped range is no error */
    uint64_t offset = offset_of(region, address);
    if (bytes == 0 || offset % SNAPSHOT_PAGE || bytes > region->span_bytes - offset)
        return -EINVAL;
    int status = mapping_cut(region, offset, offset + pages_up(bytes));
    if (status == 0 && region->mapping_count == 0)
        status = region_unmapped(region);
    return status;
}

int INTERPOSED(munmap)(void *address, size_t bytes) {
    if (!is_ours(address))
        return kernel_munmap(address, bytes);
    regions_lock();
    int status = unmap(address, bytes);
    regions_unlock();
    return posix_result(status);
}

static int remap(void *address, size_t old_bytes, size_t new_bytes, int flags) {
    struct region *region = region_of_span(address);
    if (!region)
        return -EFAULT;
    uint64_t offset = offset_of(region, address);
    if (flags & ~MREMAP_MAYMOVE || offset % SNAPSHOT_PAGE || old_bytes == 0 || new_bytes == 0)
        return -EINVAL;
    if (new_bytes > region->span_bytes)
        return -ENOMEM;
    return mapping_resize(region, offset, pages_up(old_bytes), pages_up(new_bytes));
}

/* Resize in place: addresses behind the file are reserved. */
void *INTERPOSED(mremap)(void *address, size_t old_bytes, size_t new_bytes, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    void *place = flags & MREMAP_FIXED ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    if (!is_ours(address))
        return (void *)syscall(SYS_mremap, address, old_bytes, new_bytes, flags, place);
    regions_lock();
    int status = remap(address, old_bytes, new_bytes, flags);
    regions_unlock();
    return status < 0 ? fail(-status) : address;
}

/* Without the lock, a page that stays mapped can be missing while another thread unmaps one beside it. An entry may
 * change, too: its end is only believed together with its beginning. */
static bool is_mapped(struct region *region, uint64_t offset, uint64_t bytes) {
    for (const struct mapping *m = region->mappings; m < region->mappings + region->mapping_count; m++) {
        uint64_t begin = __atomic_load_n(&m->begin, __ATOMIC_ACQUIRE), end = __atomic_load_n(&m->end, __ATOMIC_ACQUIRE);
        if (begin <= offset && offset <= end && bytes <= end - offset &&
            __atomic_load_n(&m->begin, __ATOMIC_RELAXED) == begin)
            return true;
    }
    regions_lock();
    bool result = bytes <= region->span_bytes && mapping_has(region, offset, offset + bytes);
    regions_unlock();
    return result;
}

/* Any range stands for the whole tracked file: a commit of less would not be atomic. */
int INTERPOSED(msync)(void *address, size_t bytes, int flags) {
    struct region *region = region_of_span(address);
    if (!region && is_ours(address))
        return posix_result(-ENOMEM);
    if (!region)
        return (int)syscall(SYS_msync, address, bytes, flags);
    if ((uintptr_t)address % SNAPSHOT_PAGE || flags & ~(MS_SYNC | MS_ASYNC | MS_INVALIDATE) ||
        ((flags & MS_SYNC) && (flags & MS_ASYNC)))
        return posix_result(-EINVAL);
    if (!is_mapped(region, offset_of(region, address), bytes))
        return posix_result(-ENOMEM);
    if (flags == MS_INVALIDATE)
        return posix_result(region_invalidate(region));
    return posix_result(region_msync(region, flags & MS_SYNC ? COMMIT_DURABLE : COMMIT_DECLARED));
}

/* Ignore advice that drops pages of the working copy, which has the only copy of uncommitted data. */
int INTERPOSED(madvise)(void *address, size_t bytes, int advice) {
    bool drops = advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE || advice == MADV_PAGEOUT;
    if (drops && is_ours(address))
        return 0;
    return (int)syscall(SYS_madvise, address, bytes, advice);
}
