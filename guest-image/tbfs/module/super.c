// SPDX-License-Identifier: GPL-2.0-or-later
/* Mounts: options, the memory of the device, and the core's own mount, whose errors become a sentence. */
#include <linux/blkdev.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/module.h>
#include <linux/slab.h>

#include "glue.h"

enum option { OPTION_DATA, OPTION_METADATA, OPTION_ATOMIC };

static const struct fs_parameter_spec parameters[] = {
    fsparam_string("data", OPTION_DATA),
    fsparam_string("metadata", OPTION_METADATA),
    fsparam_string("atomic", OPTION_ATOMIC),
    {},
};

static int parse_data(struct fs_context *context, const char *value) {
    struct tbfs_options *options = context->fs_private;

    if (strcmp(value, "inplace") && strcmp(value, "cow"))
        return invalfc(context, "data=%s is no policy; give data=inplace or data=cow", value);
    options->data = strcmp(value, "cow") ? TBFS_DATA_INPLACE : TBFS_DATA_COW;
    return 0;
}

static int parse_atomic(struct fs_context *context, const char *value) {
    struct tbfs_options *options = context->fs_private;
    unsigned bytes;

    if (kstrtouint(value, 10, &bytes) || (bytes != 8 && bytes != 16 && bytes != 64))
        return invalfc(context, "atomic=%s is no size; give atomic=8, 16 or 64", value);
    if (!pm_has_store(bytes))
        return invalfc(context, "this processor has no store of %u bytes; give atomic=8", bytes);
    options->atomic_bytes = bytes;
    return 0;
}

static int parse(struct fs_context *context, struct fs_parameter *parameter) {
    struct fs_parse_result result;

    switch (fs_parse(context, parameters, parameter, &result)) {
    case OPTION_DATA:
        return parse_data(context, parameter->string);
    case OPTION_METADATA:
        if (strcmp(parameter->string, "undo"))
            return invalfc(context, "metadata=%s is no policy; give metadata=undo", parameter->string);
        return 0;
    case OPTION_ATOMIC:
        return parse_atomic(context, parameter->string);
    case -ENOPARAM:
        return -ENOPARAM;
    }
    return -EINVAL;
}

static int map_memory(struct fs_context *context, struct super_block *sb, struct tbfs_space *space) {
    struct volume *volume = sb->s_fs_info;
    long pages = bdev_nr_bytes(sb->s_bdev) >> PAGE_SHIFT, mapped;
    void *base;
    int lock;

    volume->dax = fs_dax_get_by_bdev(sb->s_bdev, &volume->dax_offset, NULL, NULL);
    if (!volume->dax)
        return invalfc(context, "%pg has no DAX; give a namespace in fsdax mode", sb->s_bdev);
    lock = dax_read_lock();
    mapped = dax_direct_access(volume->dax, PHYS_PFN(volume->dax_offset), pages, DAX_ACCESS, &base, NULL);
    dax_read_unlock(lock);
    if (mapped < pages)
        return invalfc(context, "the memory of %pg is not in one piece: bad blocks, or several devices", sb->s_bdev);
    *space = (struct tbfs_space){base, (u64)pages << PAGE_SHIFT};
    return 0;
}

static int explain(struct fs_context *context, const struct super_block *sb, int status) {
    if (status == -EINVAL)
        errorfc(context, "%pg holds no tbfs; make one with `tbfs make`", sb->s_bdev);
    else if (status == -EPROTONOSUPPORT)
        errorfc(context, "%pg holds a tbfs of another version", sb->s_bdev);
    else if (status == -EUCLEAN)
        errorfc(context, "%pg holds a tbfs that is damaged so that it cannot be mounted", sb->s_bdev);
    return status;
}

static int mount_core(struct fs_context *context, struct super_block *sb, struct tbfs_space space) {
    struct volume *volume = sb->s_fs_info;
    s64 bytes = tbfs_memory_bytes(space);
    int status;

    if (bytes < 0)
        return explain(context, sb, bytes);
    volume->memory = kvzalloc(bytes, GFP_KERNEL);
    if (!volume->memory)
        return -ENOMEM;
    status = tbfs_mount(&volume->fs, space, context->fs_private, volume->memory);
    return status < 0 ? explain(context, sb, status) : 0;
}

static void set_bounds(struct super_block *sb) {
    sb->s_magic = (long)TBFS_MAGIC;
    sb->s_maxbytes = TBFS_FILE_BYTES_MAX;
    sb->s_op = &tbfs_super_operations;
    sb->s_time_gran = NSEC_PER_SEC;
    sb->s_time_min = 0;
    sb->s_time_max = U32_MAX;
    sb->s_max_links = TBFS_LINKS_MAX;
    sb->s_flags |= SB_NOATIME; /* a read writes nothing */
}

/* What fails here is undone by unmount(). */
static int fill(struct super_block *sb, struct fs_context *context) {
    struct volume *volume = kvzalloc(sizeof(*volume), GFP_KERNEL);
    struct tbfs_space space;
    struct inode *root;
    int status;

    if (!volume)
        return -ENOMEM;
    mutex_init(&volume->lock);
    sb->s_fs_info = volume;
    if (bdev_read_only(sb->s_bdev)) {
        errorfc(context, "%pg cannot be written, and a mount of tbfs recovers", sb->s_bdev);
        return -EROFS;
    }
    if (!sb_set_blocksize(sb, TBFS_BLOCK_BYTES))
        return invalfc(context, "%pg has sectors of more than 4096 bytes", sb->s_bdev);
    status = map_memory(context, sb, &space);
    if (status == 0)
        status = mount_core(context, sb, space);
    if (status < 0)
        return status;
    set_bounds(sb);
    root = inode_open(sb, TBFS_ROOT_INODE);
    if (IS_ERR(root))
        return explain(context, sb, PTR_ERR(root));
    sb->s_root = d_make_root(root);
    return sb->s_root ? 0 : -ENOMEM;
}

static int get_tree(struct fs_context *context) { return get_tree_bdev(context, fill); }

static int reconfigure(struct fs_context *context) {
    const struct tbfs_options *options = &volume_of(d_inode(context->root))->fs.options;
    const struct tbfs_options *asked = context->fs_private;

    if (asked->data != options->data || asked->atomic_bytes != options->atomic_bytes)
        return invalfc(context, "data= and atomic= stay as they are while it is mounted; unmount it first");
    sync_filesystem(context->root->d_sb);
    return 0;
}

static void free_context(struct fs_context *context) { kfree(context->fs_private); }

static const struct fs_context_operations context_operations = {
    .parse_param = parse,
    .get_tree = get_tree,
    .reconfigure = reconfigure,
    .free = free_context,
};

static int begin(struct fs_context *context) {
    struct tbfs_options *options = kzalloc(sizeof(*options), GFP_KERNEL);

    if (!options)
        return -ENOMEM;
    *options = (struct tbfs_options){.data = TBFS_DATA_INPLACE, .atomic_bytes = 8};
    if (context->purpose == FS_CONTEXT_FOR_RECONFIGURE)
        *options = volume_of(d_inode(context->root))->fs.options;
    context->fs_private = options;
    context->ops = &context_operations;
    return 0;
}

static void unmount(struct super_block *sb) {
    struct volume *volume = sb->s_fs_info;

    kill_block_super(sb);
    if (!volume)
        return;
    fs_put_dax(volume->dax, NULL);
    kvfree(volume->memory);
    kvfree(volume);
}

static struct file_system_type type = {
    .owner = THIS_MODULE,
    .name = "tbfs",
    .init_fs_context = begin,
    .parameters = parameters,
    .kill_sb = unmount,
    .fs_flags = FS_REQUIRES_DEV,
};

static int __init enter(void) { return register_filesystem(&type); }

/* Inodes are freed some time after an unmount, by code that must still be there. */
static void __exit leave(void) {
    unregister_filesystem(&type);
    rcu_barrier();
}

module_init(enter);
module_exit(leave);
MODULE_ALIAS_FS("tbfs");
MODULE_DESCRIPTION("A file system that compares designs for persistent memory");
MODULE_LICENSE("GPL");
