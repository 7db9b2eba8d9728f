// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files. Reads and mapped pages use the kernel's DAX, which asks for the location of blocks. Writes go through the
 * core, since the content and the metadata that make it visible are one transaction.
 */
#include <linux/iomap.h>
#include <linux/pagemap.h>
#include <linux/uio.h>
#include <linux/wait_bit.h>

#include "glue.h"
#include "persist.h"

#include <linux/falloc.h>

/* ---- Locations of blocks ---- */

/* Finds an extent. Access to a page's block needs the whole page there, so its log is merged first. A query for the
 * locations of data (`reports`) needs no merge. */
static int find_merged(struct tbfs *fs, struct inode *inode, u64 begin, u64 bytes, bool reports,
                       struct tbfs_extent *extent) {
    int status = tbfs_find_extent(fs, inode->i_ino, begin, bytes, extent);

    if (status < 0 || reports || !extent->has_log)
        return status;
    status = tbfs_merge(fs, inode->i_ino, begin, TBFS_BLOCK_BYTES);
    return status < 0 ? status : tbfs_find_extent(fs, inode->i_ino, begin, TBFS_BLOCK_BYTES, extent);
}

/* A store to a hole allocates a block: one at a time, so that a sparse file stays sparse. */
static int find_or_make(struct tbfs *fs, struct inode *inode, u64 begin, u64 bytes, unsigned flags,
                        struct tbfs_extent *extent) {
    int status = find_merged(fs, inode, begin, bytes, flags & IOMAP_REPORT, extent);

    if (status < 0 || !(flags & IOMAP_WRITE) || extent->offset)
        return status;
    status = tbfs_fallocate(fs, inode->i_ino, TBFS_KEEP_SIZE, begin, TBFS_BLOCK_BYTES, now());
    inode_refresh(fs, inode);
    return status < 0 ? status : tbfs_find_extent(fs, inode->i_ino, begin, TBFS_BLOCK_BYTES, extent);
}

static int map_begin(struct inode *inode, loff_t position, loff_t bytes, unsigned flags, struct iomap *map,
                     struct iomap *source) {
    struct volume *volume = volume_of(inode);
    u64 begin = round_down(position, TBFS_BLOCK_BYTES);
    struct tbfs_extent extent;
    int status = find_or_make(core_lock(inode), inode, begin, position + bytes - begin, flags, &extent);

    core_unlock(inode);
    if (status < 0)
        return status;
    map->offset = begin;
    map->length = extent.bytes;
    map->type = extent.offset || extent.has_log ? IOMAP_MAPPED : IOMAP_HOLE;
    map->addr = extent.offset ? extent.offset + volume->dax_offset : IOMAP_NULL_ADDR;
    map->bdev = inode->i_sb->s_bdev;
    map->dax_dev = volume->dax;
    return 0;
}

static const struct iomap_ops map_operations = {.iomap_begin = map_begin};

/* ---- Mapped pages ---- */

static void wait_unlocked(struct inode *inode) {
    filemap_invalidate_unlock(inode->i_mapping);
    schedule();
    filemap_invalidate_lock(inode->i_mapping);
}

/* Waits until no device uses a page of the range, as for DMA, and no process maps one. An idle page has a reference
 * count of 1. */
static int wait_until_idle(struct inode *inode, u64 begin, u64 last) {
    struct page *page;
    int status = 0;

    while (status == 0 && (page = dax_layout_busy_page_range(inode->i_mapping, begin, last)))
        status = ___wait_var_event(&page->_refcount, atomic_read(&page->_refcount) == 1, TASK_INTERRUPTIBLE, 0, 0,
                                   wait_unlocked(inode));
    return status;
}

/*
 * Stores of processes to the range are made durable first: a write may change only a part of a block, and must keep the
 * rest.
 *
 * No page of the range is dirty after that: write_pages() waits for an fsync() that is under way, and a store faults
 * again, which waits for the invalidate lock.
 */
int file_unmap(struct inode *inode, u64 begin, u64 end) {
    struct address_space *mapping = inode->i_mapping;
    u64 last = end - 1;
    int status;

    if (mapping_empty(mapping))
        return 0;
    begin = round_down(begin, PAGE_SIZE);
    status = wait_until_idle(inode, begin, end == LLONG_MAX ? end : last);
    if (status == 0)
        status = filemap_write_and_wait_range(mapping, begin, last);
    if (status == 0)
        truncate_inode_pages_range(mapping, begin, end == LLONG_MAX ? -1 : round_up(end, PAGE_SIZE) - 1);
    return status;
}

/* Whether a page has a log that must not be merged, as the mount is read-only. The page is then mapped as a copy, so it
 * must not change any more either. */
static bool needs_copy(struct inode *inode, u64 begin) {
    struct tbfs *fs = core_lock(inode);
    struct tbfs_extent extent;
    bool needs =
        fs->read_only && tbfs_find_extent(fs, inode->i_ino, begin, TBFS_BLOCK_BYTES, &extent) == 0 && extent.has_log;

    if (needs)
        volume_of(inode)->has_copies = true;
    core_unlock(inode);
    return needs;
}

static vm_fault_t serve_copy(struct vm_fault *fault, struct inode *inode) {
    struct page *page = alloc_page(GFP_KERNEL | __GFP_ZERO);
    s64 done;

    if (!page)
        return VM_FAULT_OOM;
    done = tbfs_read(core_lock(inode), inode->i_ino, (u64)fault->pgoff << PAGE_SHIFT, page_address(page), PAGE_SIZE);
    core_unlock(inode);
    if (done < 0) {
        __free_page(page);
        return VM_FAULT_SIGBUS;
    }
    lock_page(page);
    fault->page = page;
    return VM_FAULT_LOCKED;
}

static vm_fault_t serve(struct vm_fault *fault, unsigned order) {
    struct inode *inode = file_inode(fault->vma->vm_file);
    bool writes = fault->flags & FAULT_FLAG_WRITE && fault->vma->vm_flags & VM_SHARED;
    vm_fault_t result;

    if (writes) {
        sb_start_pagefault(inode->i_sb);
        file_update_time(fault->vma->vm_file);
    }
    filemap_invalidate_lock_shared(inode->i_mapping);
    if (order == 0 && needs_copy(inode, (u64)fault->pgoff << PAGE_SHIFT))
        result = serve_copy(fault, inode);
    else
        result = dax_iomap_fault(fault, order, NULL, NULL, &map_operations);
    filemap_invalidate_unlock_shared(inode->i_mapping);
    if (writes)
        sb_end_pagefault(inode->i_sb);
    return result;
}

static vm_fault_t serve_page(struct vm_fault *fault) { return serve(fault, 0); }

static const struct vm_operations_struct page_operations = {
    .fault = serve_page,
    .huge_fault = serve,
    .page_mkwrite = serve_page,
    .pfn_mkwrite = serve_page,
};

/* O_DIRECT needs no support, as no file has a cache to bypass. Without this flag the kernel would refuse O_DIRECT only
 * after it has created a new file, and would leave that file. */
static int open_file(struct inode *inode, struct file *file) {
    file->f_mode |= FMODE_CAN_ODIRECT;
    return generic_file_open(inode, file);
}

/* Every block is durable when a fault returns, so MAP_SYNC needs no further work. */
static int map_file(struct file *file, struct vm_area_struct *area) {
    if (!daxdev_mapping_supported(area, volume_of(file_inode(file))->dax))
        return -EOPNOTSUPP;
    file_accessed(file);
    area->vm_ops = &page_operations;
    vm_flags_set(area, VM_HUGEPAGE);
    return 0;
}

/*
 * The kernel clears a page's mark before it has flushed the page, and a concurrent call skips a page without a mark.
 * The lock is held until the fence, so for every call that takes the lock a skipped page is durable. The fence must be
 * executed by this CPU: a fence of another CPU does not wait for flushes of this one.
 */
static int write_pages(struct address_space *mapping, struct writeback_control *control) {
    struct volume *volume = volume_of(mapping->host);
    int status;

    mutex_lock(&volume->writing_back);
    status = dax_writeback_mapping_range(mapping, volume->dax, control);
    pm_fence();
    mutex_unlock(&volume->writing_back);
    return status;
}

/* Only stores to mapped pages are not durable yet. If no page has a mark, the kernel does not call write_pages(). */
static int synchronise(struct file *file, loff_t begin, loff_t last, int only_data) {
    int status = file_write_and_wait_range(file, begin, last);

    wait_for_writing_back(volume_of(file_inode(file)));
    return status;
}

/* ---- Read and write ---- */

/* Copies a part of a read, without a page fault: -EFAULT if one would occur. */
static int copy_out(void *context, uint64_t at, const void *source, uint64_t bytes) {
    struct iov_iter to = *(struct iov_iter *)context;

    iov_iter_advance(&to, at);
    return (source ? _copy_to_iter(source, bytes, &to) : iov_iter_zero(bytes, &to)) == bytes ? 0 : -EFAULT;
}

static s64 read_present(struct inode *inode, u64 begin, struct iov_iter *to, u64 bytes) {
    struct tbfs_sink sink = {copy_out, to};
    struct tbfs *fs = core_lock(inode);
    s64 done;

    pagefault_disable();
    done = tbfs_read_to(fs, inode->i_ino, begin, &sink, bytes);
    pagefault_enable();
    core_unlock(inode);
    return done;
}

/* Reads through a page of the kernel, for a buffer that is not in memory, such as a mapping of the very pages that are
 * read. */
static s64 read_by_page(struct inode *inode, u64 begin, struct iov_iter *to, u64 bytes) {
    struct page *page = alloc_page(GFP_KERNEL);
    struct iov_iter present, target = *to;
    struct kvec vector;
    s64 done;

    if (!page)
        return -ENOMEM;
    vector = (struct kvec){page_address(page), min(bytes, PAGE_SIZE)};
    iov_iter_kvec(&present, ITER_DEST, &vector, 1, vector.iov_len);
    done = read_present(inode, begin, &present, vector.iov_len);
    if (done > 0 && copy_to_iter(page_address(page), done, &target) != done)
        done = -EFAULT;
    __free_page(page);
    return done;
}

/* The buffer is faulted in only after a failed copy: that takes longer than the read itself, as it checks page by
 * page. */
static s64 read_part(struct inode *inode, u64 begin, struct iov_iter *to) {
    u64 bytes = min(iov_iter_count(to), TBFS_BLOCKS_PER_TRANSACTION * TBFS_BLOCK_BYTES);
    s64 done = read_present(inode, begin, to, bytes);

    if (done != -EFAULT)
        return done;
    if (fault_in_iov_iter_writeable(to, bytes) == bytes)
        return -EFAULT;
    done = read_present(inode, begin, to, bytes);
    return done == -EFAULT ? read_by_page(inode, begin, to, bytes) : done;
}

/* The number of bytes, from the call's position on, in pages that all have a log or that all have none. */
static u64 bytes_alike(const struct kiocb *call, u64 bytes, bool *has_log) {
    struct inode *inode = file_inode(call->ki_filp);
    u64 at = round_down(call->ki_pos, TBFS_BLOCK_BYTES), end = call->ki_pos + bytes;
    struct tbfs *fs = core_lock(inode);
    struct tbfs_extent extent = {0};

    *has_log = tbfs_find_extent(fs, inode->i_ino, at, end - at, &extent) == 0 && extent.has_log;
    while (extent.bytes && extent.has_log == *has_log && (at += extent.bytes) < end)
        if (tbfs_find_extent(fs, inode->i_ino, at, end - at, &extent) < 0)
            break;
    core_unlock(inode);
    return at > call->ki_pos ? min(bytes, at - call->ki_pos) : bytes;
}

static ssize_t read_logs(struct kiocb *call, struct iov_iter *to) {
    s64 done = read_part(file_inode(call->ki_filp), call->ki_pos, to);

    if (done > 0) {
        iov_iter_advance(to, done);
        call->ki_pos += done;
    }
    return done;
}

/*
 * The core reads pages with logs. All others are read by the kernel's DAX, which does not hold the core's lock while it
 * copies: no write changes the file meanwhile, and no merge changes a page without a log.
 */
static ssize_t read_with_logs(struct kiocb *call, struct iov_iter *to) {
    ssize_t taken = 0, done = 0;

    while (iov_iter_count(to)) {
        size_t wanted = iov_iter_count(to), part;
        bool has_log;

        part = bytes_alike(call, wanted, &has_log);
        iov_iter_truncate(to, part);
        done = has_log ? read_logs(call, to) : dax_iomap_rw(call, to, &map_operations);
        iov_iter_reexpand(to, iov_iter_count(to) + wanted - part);
        if (done <= 0)
            break;
        taken += done;
        cond_resched();
    }
    return taken ? taken : done;
}

/* The buffer may extend beyond the file, and beyond the largest possible file: only bytes of the file are requested. */
static ssize_t read_file(struct kiocb *call, struct iov_iter *to) {
    struct inode *inode = file_inode(call->ki_filp);
    const struct tbfs *fs = &volume_of(inode)->fs;
    bool may_have_logs = fs->options.data == TBFS_DATA_HYBRID || fs->read_only;
    size_t wanted = iov_iter_count(to), asked;
    loff_t size = i_size_read(inode);
    ssize_t done;

    if (call->ki_pos >= size)
        return 0;
    iov_iter_truncate(to, size - call->ki_pos);
    asked = iov_iter_count(to);
    done = may_have_logs ? read_with_logs(call, to) : dax_iomap_rw(call, to, &map_operations);
    iov_iter_reexpand(to, iov_iter_count(to) + wanted - asked);
    return done;
}

static ssize_t read(struct kiocb *call, struct iov_iter *to) {
    struct inode *inode = file_inode(call->ki_filp);
    ssize_t done;

    if (!iov_iter_count(to))
        return 0;
    inode_lock_shared(inode);
    done = read_file(call, to);
    inode_unlock_shared(inode);
    file_accessed(call->ki_filp);
    return done;
}

/* Copies past the caches, and without a page fault: -EFAULT if one would occur. */
static int copy(void *context, uint64_t at, void *target, uint64_t bytes) {
    struct iov_iter from = *(struct iov_iter *)context;
    unsigned long window;
    size_t done;

    iov_iter_advance(&from, at);
    window = pm_window_open(target);
    done = _copy_from_iter_flushcache(target, bytes, &from);
    pm_window_close(window);
    return done == bytes ? 0 : -EFAULT;
}

static s64 write_present(struct inode *inode, u64 begin, struct iov_iter *from, u64 bytes) {
    struct tbfs_source source = {copy, from};
    s64 done;

    filemap_invalidate_lock(inode->i_mapping);
    done = file_unmap(inode, begin, begin + bytes);
    if (done == 0) {
        struct tbfs *fs = core_lock(inode);

        pagefault_disable();
        done = tbfs_write_from(fs, inode->i_ino, begin, &source, bytes, now());
        pagefault_enable();
        inode_refresh(fs, inode);
        core_unlock(inode);
    }
    filemap_invalidate_unlock(inode->i_mapping);
    return done;
}

/* Writes through a page of the kernel, for data that are not in memory, such as a mapping of the very pages that are
 * written. */
static s64 write_by_page(struct inode *inode, u64 begin, struct iov_iter *from, u64 bytes) {
    struct page *page = alloc_page(GFP_KERNEL);
    struct iov_iter present, data = *from;
    struct kvec vector;
    s64 done = -EFAULT;

    if (!page)
        return -ENOMEM;
    vector = (struct kvec){page_address(page), copy_from_iter(page_address(page), min(bytes, PAGE_SIZE), &data)};
    iov_iter_kvec(&present, ITER_SOURCE, &vector, 1, vector.iov_len);
    if (vector.iov_len)
        done = write_present(inode, begin, &present, vector.iov_len);
    __free_page(page);
    return done;
}

/* Writes one transaction's part: up to TBFS_BLOCKS_PER_TRANSACTION blocks, counted from the block in which it
 * begins. */
static s64 write_part(struct inode *inode, u64 begin, struct iov_iter *from) {
    u64 end = round_down(begin, TBFS_BLOCK_BYTES) + TBFS_BLOCKS_PER_TRANSACTION * TBFS_BLOCK_BYTES;
    u64 bytes = min(iov_iter_count(from), end - begin);
    s64 done;

    if (fault_in_iov_iter_readable(from, bytes) == bytes)
        return -EFAULT;
    done = write_present(inode, begin, from, bytes);
    return done == -EFAULT ? write_by_page(inode, begin, from, bytes) : done;
}

static ssize_t write_all(struct kiocb *call, struct iov_iter *from) {
    struct inode *inode = file_inode(call->ki_filp);
    ssize_t written = 0;
    s64 done = 0;

    while (iov_iter_count(from) && (done = write_part(inode, call->ki_pos, from)) > 0) {
        iov_iter_advance(from, done);
        call->ki_pos += done;
        written += done;
        cond_resched();
    }
    return written ? written : done;
}

static ssize_t write(struct kiocb *call, struct iov_iter *from) {
    struct inode *inode = file_inode(call->ki_filp);
    ssize_t done;

    inode_lock(inode);
    done = generic_write_checks(call, from);
    if (done > 0) {
        int status = file_remove_privs(call->ki_filp);

        done = status < 0 ? status : write_all(call, from);
    }
    inode_unlock(inode);
    return done;
}

static long allocate(struct file *file, int mode, loff_t begin, loff_t bytes) {
    struct inode *inode = file_inode(file);
    int status;

    BUILD_BUG_ON(FALLOC_FL_KEEP_SIZE != TBFS_KEEP_SIZE || FALLOC_FL_PUNCH_HOLE != TBFS_PUNCH_HOLE);
    if (mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE))
        return -EOPNOTSUPP;
    inode_lock(inode);
    status = mode & FALLOC_FL_KEEP_SIZE ? 0 : inode_newsize_ok(inode, begin + bytes);
    if (status == 0)
        status = file_remove_privs(file); /* the core sets the times, together with what it changes */
    filemap_invalidate_lock(inode->i_mapping);
    if (status == 0)
        status = file_unmap(inode, begin, begin + bytes);
    if (status == 0) {
        struct tbfs *fs = core_lock(inode);

        status = tbfs_fallocate(fs, inode->i_ino, mode, begin, bytes, now());
        inode_refresh(fs, inode);
        core_unlock(inode);
    }
    filemap_invalidate_unlock(inode->i_mapping);
    inode_unlock(inode);
    return status;
}

static loff_t seek(struct file *file, loff_t offset, int whence) {
    struct inode *inode = file_inode(file);

    if (whence != SEEK_HOLE && whence != SEEK_DATA)
        return generic_file_llseek(file, offset, whence);
    inode_lock_shared(inode);
    if (whence == SEEK_HOLE)
        offset = iomap_seek_hole(inode, offset, &map_operations);
    else
        offset = iomap_seek_data(inode, offset, &map_operations);
    inode_unlock_shared(inode);
    return offset < 0 ? offset : vfs_setpos(file, offset, inode->i_sb->s_maxbytes);
}

const struct inode_operations tbfs_file_inode_operations = {
    .setattr = inode_setattr,
    .update_time = inode_update,
};

const struct file_operations tbfs_file_operations = {
    .fop_flags = FOP_MMAP_SYNC,
    .open = open_file,
    .llseek = seek,
    .read_iter = read,
    .write_iter = write,
    .mmap = map_file,
    .get_unmapped_area = thp_get_unmapped_area,
    .fsync = synchronise,
    .fallocate = allocate,
    .splice_read = filemap_splice_read,
    .splice_write = iter_file_splice_write,
};

const struct address_space_operations tbfs_mapping_operations = {
    .writepages = write_pages,
    .dirty_folio = noop_dirty_folio,
};
