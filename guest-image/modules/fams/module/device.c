// SPDX-License-Identifier: GPL-2.0-or-later
/* /dev/fams: the calls of programs, and the memory of the device below a store. */
#include <linux/blkdev.h>
#include <linux/dax.h>
#include <linux/file.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "fams_ioctl.h"
#include "store.h"

static int open_store(struct inode *inode, struct file *file) {
    struct store *store = kvzalloc(sizeof(*store), GFP_KERNEL);

    if (!store)
        return -ENOMEM;
    mutex_init(&store->lock);
    xa_init(&store->pages);
    INIT_DELAYED_WORK(&store->work, pages_work);
    store->mapping = file->f_mapping;
    store->mapping->a_ops = &pages_mapping_operations;
    file->private_data = store;
    return 0;
}

/* ---- The device below ---- */

static void detach(struct store *store) {
    if (store->dax)
        fs_put_dax(store->dax, NULL);
    if (store->device)
        bdev_fput(store->device);
    store->dax = NULL;
    store->device = NULL;
}

/* The named file selects the device, and proves that the caller may write to it. */
static int take_device(struct store *store, int fd) {
    struct file *named = fget(fd), *device;
    int status = 0;

    if (!named)
        return -EBADF;
    if (!S_ISBLK(file_inode(named)->i_mode))
        status = -ENOTBLK;
    else if (!(named->f_mode & FMODE_WRITE))
        status = -EBADF;
    device =
        status ? NULL : bdev_file_open_by_dev(file_inode(named)->i_rdev, BLK_OPEN_READ | BLK_OPEN_WRITE, store, NULL);
    fput(named);
    if (IS_ERR(device))
        return PTR_ERR(device);
    store->device = device;
    return status;
}

static int map_memory(struct store *store, struct fams_space *space) {
    struct block_device *device = file_bdev(store->device);
    long pages = bdev_nr_bytes(device) >> PAGE_SHIFT, mapped;
    u64 offset;
    int lock;

    store->dax = fs_dax_get_by_bdev(device, &offset, NULL, NULL);
    if (!store->dax)
        return -EOPNOTSUPP;
    lock = dax_read_lock();
    mapped = dax_direct_access(store->dax, PHYS_PFN(offset), pages, DAX_ACCESS, &space->base, NULL);
    dax_read_unlock(lock);
    if (mapped < pages)
        return -EOPNOTSUPP;
    space->bytes = (u64)pages << PAGE_SHIFT;
    return 0;
}

static int attach(struct store *store, struct fams_attach *what) {
    struct fams_space space = {};
    int status;

    if (store->device)
        return -EBUSY;
    if (what->flags & ~FAMS_NEW)
        return -EINVAL;
    status = take_device(store, what->device);
    if (!status)
        status = map_memory(store, &space);
    if (!status && what->flags & FAMS_NEW)
        status = fams_make(space, what->journal_bytes);
    if (!status)
        status = fams_open(&store->fams, space);
    if (status)
        detach(store);
    what->data_bytes = store->fams.data_pages << PAGE_SHIFT;
    what->commit_pages = store->fams.capacity;
    return status;
}

/* ---- Calls of programs ---- */

static long ask_attach(struct store *store, struct fams_attach __user *argument) {
    struct fams_attach what;
    int status;

    if (copy_from_user(&what, argument, sizeof(what)))
        return -EFAULT;
    mutex_lock(&store->lock);
    status = attach(store, &what);
    mutex_unlock(&store->lock);
    if (!status && copy_to_user(argument, &what, sizeof(what)))
        return -EFAULT;
    return status;
}

static struct page_range pages_of(u64 first, u64 last) {
    return (struct page_range){first >> PAGE_SHIFT, last >> PAGE_SHIFT};
}

static long ask_range(struct store *store, unsigned command, struct fams_range __user *argument) {
    struct fams_range bytes;
    struct page_range range;
    int status;

    if (copy_from_user(&bytes, argument, sizeof(bytes)))
        return -EFAULT;
    if (!bytes.bytes || bytes.offset + bytes.bytes < bytes.offset)
        return -EINVAL;
    range = pages_of(bytes.offset, bytes.offset + bytes.bytes - 1);
    mutex_lock(&store->lock);
    if (command == FAMS_ROLLBACK)
        status = pages_roll_back(store, range);
    else
        status = pages_declare(store, range);
    mutex_unlock(&store->lock);
    if (command == FAMS_DECLARE && !status)
        mod_delayed_work(system_unbound_wq, &store->work, 0);
    return status;
}

static bool is_attached(struct store *store) {
    bool attached;

    mutex_lock(&store->lock);
    attached = store->device;
    mutex_unlock(&store->lock);
    return attached;
}

static long ask(struct file *file, unsigned command, unsigned long argument) {
    struct store *store = file->private_data;

    if (command == FAMS_ATTACH)
        return ask_attach(store, (void __user *)argument);
    if (command != FAMS_ROLLBACK && command != FAMS_DECLARE)
        return -ENOTTY;
    if (!is_attached(store))
        return -ENODEV;
    return ask_range(store, command, (void __user *)argument);
}

static int map(struct file *file, struct vm_area_struct *vma) {
    struct store *store = file->private_data;

    if (!is_attached(store))
        return -ENODEV;
    if (!(vma->vm_flags & VM_SHARED))
        return -EINVAL;
    if (vma->vm_pgoff + vma_pages(vma) < vma->vm_pgoff || vma->vm_pgoff + vma_pages(vma) > store->fams.data_pages)
        return -ENXIO;
    vm_flags_set(vma, VM_DONTEXPAND);
    vma->vm_ops = &pages_vm_operations;
    return 0;
}

/* Called for msync(MS_SYNC), and for fsync() with the whole file as the range. */
static int synchronise(struct file *file, loff_t begin, loff_t last, int datasync) {
    struct store *store = file->private_data;
    int status = -ENODEV;

    mutex_lock(&store->lock);
    if (store->device)
        status = pages_declare(store, pages_of(begin, last));
    if (!status)
        status = pages_commit(store);
    mutex_unlock(&store->lock);
    return status;
}

static int close_store(struct inode *inode, struct file *file) {
    struct store *store = file->private_data;

    mutex_lock(&store->lock);
    if (store->device) {
        pages_commit(store);
        fams_close(&store->fams);
    }
    mutex_unlock(&store->lock);
    cancel_delayed_work_sync(&store->work); /* no work is left for it */
    pages_free(store);
    detach(store);
    kvfree(store);
    return 0;
}

static const struct file_operations operations = {
    .owner = THIS_MODULE,
    .open = open_store,
    .release = close_store,
    .unlocked_ioctl = ask,
    .compat_ioctl = compat_ptr_ioctl,
    .mmap = map,
    .fsync = synchronise,
    .llseek = noop_llseek,
};

static struct miscdevice device = {.minor = MISC_DYNAMIC_MINOR, .name = "fams", .fops = &operations, .mode = 0600};

module_misc_device(device);
MODULE_DESCRIPTION("Failure-atomic msync over the memory of a DAX device");
MODULE_LICENSE("GPL");
