// SPDX-License-Identifier: GPL-2.0-or-later
/* Mounts: options, the memory of the device, and the core's own mount with a message for each of its errors. */
#include <linux/blkdev.h>
#include <linux/fs_context.h>
#include <linux/fs_parser.h>
#include <linux/log2.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "glue.h"

/* Options of the core, and of the persistence layer. */
struct mount_options {
    struct tbfs_options core;
    struct pm_rules rules;
};

enum option {
    OPTION_DATA,
    OPTION_METADATA,
    OPTION_ATOMIC,
    OPTION_BARRIER,
    OPTION_WPROTECT,
    OPTION_LOG_BLOCK,
    OPTION_LOG_ALIGN,
    OPTION_HYBRID_MAX,
    OPTION_GC_READ,
    OPTION_READ,
    OPTION_MULTI,
    OPTION_GC_LOW,
    OPTION_GC_HIGH,
    OPTION_GC_IDLE
};

static const struct fs_parameter_spec parameters[] = {
    fsparam_string("data", OPTION_DATA),
    fsparam_string("metadata", OPTION_METADATA),
    fsparam_string("atomic", OPTION_ATOMIC),
    fsparam_string("barrier", OPTION_BARRIER),
    fsparam_string("wprotect", OPTION_WPROTECT),
    fsparam_string("log_block", OPTION_LOG_BLOCK),
    fsparam_string("log_align", OPTION_LOG_ALIGN),
    fsparam_string("hybrid_max", OPTION_HYBRID_MAX),
    fsparam_string("gc_read", OPTION_GC_READ),
    fsparam_string("read", OPTION_READ),
    fsparam_string("multi", OPTION_MULTI),
    fsparam_string("gc_low", OPTION_GC_LOW),
    fsparam_string("gc_high", OPTION_GC_HIGH),
    fsparam_string("gc_idle_us", OPTION_GC_IDLE),
    {},
};

static int parse_data(struct fs_context *context, struct tbfs_options *options, const char *value) {
    static const char *const names[] = {"inplace", "cow", "hybrid"};
    int index = match_string(names, ARRAY_SIZE(names), value);

    BUILD_BUG_ON(TBFS_DATA_INPLACE != 0 || TBFS_DATA_COW != 1 || TBFS_DATA_HYBRID != 2);
    if (index < 0)
        return invalfc(context, "data=%s is no policy; give data=inplace, cow or hybrid", value);
    options->data = index;
    return 0;
}

static int parse_metadata(struct fs_context *context, struct tbfs_options *options, const char *value) {
    static const char *const names[] = {"undo", "log"};
    int index = match_string(names, ARRAY_SIZE(names), value);

    BUILD_BUG_ON(TBFS_METADATA_UNDO != 0 || TBFS_METADATA_LOG != 1);
    if (index < 0)
        return invalfc(context, "metadata=%s is no policy; give metadata=undo or log", value);
    options->metadata = index;
    return 0;
}

static int parse_atomic(struct fs_context *context, struct tbfs_options *options, const char *value) {
    unsigned bytes = 0;

    if (strcmp(value, "off") && (kstrtouint(value, 10, &bytes) || (bytes != 8 && bytes != 16 && bytes != 64)))
        return invalfc(context, "atomic=%s is no size; give atomic=8, 16, 64 or off", value);
    if (!pm_has_store(bytes))
        return invalfc(context, "this processor has no store of %u bytes; give atomic=8", bytes);
    options->atomic_bytes = bytes;
    return 0;
}

/* ---- Options of the persistence layer ---- */

static int parse_switch(struct fs_context *context, const char *name, bool *is_on, const char *value) {
    if (strcmp(value, "on") && strcmp(value, "off"))
        return invalfc(context, "%s=%s is no switch; give %s=on or %s=off", name, value, name, name);
    *is_on = !strcmp(value, "on");
    return 0;
}

static int parse_barrier(struct fs_context *context, struct pm_rules *rules, const char *value) {
    int status = parse_switch(context, "barrier", &rules->barrier, value);

    if (status == 0 && rules->barrier && !pm_has_barrier())
        return invalfc(context, "this machine has no pm_wbarrier, which only the testbed has; leave out barrier=on");
    return status;
}

/* ---- Options of data=hybrid ---- */

static int parse_log_block(struct fs_context *context, struct tbfs_hybrid *hybrid, const char *value) {
    unsigned bytes;

    if (kstrtouint(value, 10, &bytes) || bytes < TBFS_LOG_BLOCK_BYTES_MIN || bytes > TBFS_BLOCK_BYTES ||
        !is_power_of_2(bytes))
        return invalfc(context, "log_block=%s is no size; give log_block=512, 1024, 2048 or 4096", value);
    hybrid->log_block_bytes = bytes;
    return 0;
}

static int parse_log_align(struct fs_context *context, struct tbfs_hybrid *hybrid, const char *value) {
    unsigned bytes;

    if (kstrtouint(value, 10, &bytes) || (bytes != 8 && bytes != 64))
        return invalfc(context, "log_align=%s is no alignment; give log_align=8 or 64", value);
    hybrid->log_align_bytes = bytes;
    return 0;
}

static int parse_hybrid_max(struct fs_context *context, struct tbfs_hybrid *hybrid, const char *value) {
    unsigned bytes;

    if (kstrtouint(value, 10, &bytes) || bytes == 0 || bytes >= TBFS_BLOCK_BYTES)
        return invalfc(context, "hybrid_max=%s is no part of a page; give hybrid_max=1 to 4095", value);
    hybrid->log_write_bytes = bytes;
    return 0;
}

static int parse_gc_read(struct fs_context *context, struct tbfs_hybrid *hybrid, const char *value) {
    u64 bytes = TBFS_GC_NEVER;

    if (strcmp(value, "off") && (kstrtou64(value, 10, &bytes) || bytes == 0))
        return invalfc(context, "gc_read=%s is no number of bytes; give one such as 4096, or gc_read=off", value);
    hybrid->gc_read_bytes = bytes;
    return 0;
}

static int parse_gc_low(struct fs_context *context, struct tbfs_hybrid *hybrid, const char *value) {
    unsigned percent = 0;

    if (strcmp(value, "off") && (kstrtouint(value, 10, &percent) || percent == 0 || percent > 100))
        return invalfc(context, "gc_low=%s is no percentage; give gc_low=1 to 100, or gc_low=off", value);
    hybrid->gc_low_percent = percent;
    return 0;
}

static int parse_gc_high(struct fs_context *context, struct tbfs_hybrid *hybrid, const char *value) {
    unsigned percent;

    if (kstrtouint(value, 10, &percent) || percent == 0 || percent > 100)
        return invalfc(context, "gc_high=%s is no percentage; give gc_high=1 to 100", value);
    hybrid->gc_high_percent = percent;
    return 0;
}

static int parse_gc_idle(struct fs_context *context, struct tbfs_hybrid *hybrid, const char *value) {
    unsigned us;

    if (kstrtouint(value, 10, &us) || us == 0)
        return invalfc(context, "gc_idle_us=%s is no time; give one such as gc_idle_us=1000", value);
    hybrid->gc_idle_us = us;
    return 0;
}

static int parse_read(struct fs_context *context, struct tbfs_hybrid *hybrid, const char *value) {
    if (strcmp(value, "reverse") && strcmp(value, "forward"))
        return invalfc(context, "read=%s is no order; give read=reverse or read=forward", value);
    hybrid->read = strcmp(value, "forward") ? TBFS_READ_REVERSE : TBFS_READ_FORWARD;
    return 0;
}

static int parse_multi(struct fs_context *context, struct tbfs_hybrid *hybrid, const char *value) {
    if (strcmp(value, "call") && strcmp(value, "page"))
        return invalfc(context, "multi=%s is no promise; give multi=call or multi=page", value);
    hybrid->multi = strcmp(value, "page") ? TBFS_MULTI_CALL : TBFS_MULTI_PAGE;
    return 0;
}

static int parse(struct fs_context *context, struct fs_parameter *parameter) {
    struct mount_options *options = context->fs_private;
    struct tbfs_hybrid *hybrid = &options->core.hybrid;
    struct fs_parse_result result;

    switch (fs_parse(context, parameters, parameter, &result)) {
    case OPTION_DATA:
        return parse_data(context, &options->core, parameter->string);
    case OPTION_METADATA:
        return parse_metadata(context, &options->core, parameter->string);
    case OPTION_ATOMIC:
        return parse_atomic(context, &options->core, parameter->string);
    case OPTION_BARRIER:
        return parse_barrier(context, &options->rules, parameter->string);
    case OPTION_WPROTECT:
        return parse_switch(context, "wprotect", &options->rules.wprotect, parameter->string);
    case OPTION_LOG_BLOCK:
        return parse_log_block(context, hybrid, parameter->string);
    case OPTION_LOG_ALIGN:
        return parse_log_align(context, hybrid, parameter->string);
    case OPTION_HYBRID_MAX:
        return parse_hybrid_max(context, hybrid, parameter->string);
    case OPTION_GC_READ:
        return parse_gc_read(context, hybrid, parameter->string);
    case OPTION_READ:
        return parse_read(context, hybrid, parameter->string);
    case OPTION_MULTI:
        return parse_multi(context, hybrid, parameter->string);
    case OPTION_GC_LOW:
        return parse_gc_low(context, hybrid, parameter->string);
    case OPTION_GC_HIGH:
        return parse_gc_high(context, hybrid, parameter->string);
    case OPTION_GC_IDLE:
        return parse_gc_idle(context, hybrid, parameter->string);
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
    if (volume->rules.wprotect) {
        volume->protected = pm_protect(base, pages);
        if (!volume->protected)
            return invalfc(context, "%pg is larger than what can be mapped read-only here; leave out wprotect=on",
                           sb->s_bdev);
        base = volume->protected;
    }
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

/* Called with the core's lock held, or during the mount. */
static void stop(struct tbfs *fs, const char *sentence, u64 number) {
    struct super_block *sb = container_of(fs, struct volume, fs)->sb;

    pr_err("tbfs: %pg: %s %llu; nothing is changed any more: unmount it and run `tbfs check`\n", sb->s_bdev, sentence,
           number);
    sb->s_flags |= SB_RDONLY;
}

static int mount_core(struct fs_context *context, struct super_block *sb, struct tbfs_space space) {
    struct tbfs_options options = ((const struct mount_options *)context->fs_private)->core;
    struct volume *volume = sb->s_fs_info;
    s64 bytes = tbfs_memory_bytes(space);
    int status;

    if (bytes < 0)
        return explain(context, sb, bytes);
    volume->memory = kvzalloc(bytes, GFP_KERNEL);
    if (!volume->memory)
        return -ENOMEM;
    volume->sb = sb;
    options.report = stop;
    status = tbfs_mount(&volume->fs, space, &options, volume->memory);
    volume->fs.read_only = sb_rdonly(sb);
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

/* unmount() cleans up after a failure. */
static int fill(struct super_block *sb, struct fs_context *context) {
    struct volume *volume = kvzalloc(sizeof(*volume), GFP_KERNEL);
    const struct mount_options *options = context->fs_private;
    struct tbfs_space space;
    struct inode *root;
    int status;

    if (!volume)
        return -ENOMEM;
    mutex_init(&volume->lock);
    mutex_init(&volume->writing_back);
    background_init(volume);
    volume->rules = options->rules;
    pm_begin(&volume->rules);
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

static int get_tree(struct fs_context *context) {
    const struct tbfs_options *options = &((const struct mount_options *)context->fs_private)->core;
    const struct tbfs_hybrid *hybrid = &options->hybrid;
    bool has_hybrid = hybrid->log_block_bytes || hybrid->log_align_bytes || hybrid->log_write_bytes ||
                      hybrid->gc_read_bytes || hybrid->read || hybrid->multi || hybrid->gc_low_percent ||
                      hybrid->gc_high_percent || hybrid->gc_idle_us;

    if (options->data != TBFS_DATA_HYBRID && has_hybrid)
        return invalfc(context, "options of logs need data=hybrid; give that, or leave them out");
    if ((hybrid->gc_high_percent || hybrid->gc_idle_us) && !hybrid->gc_low_percent)
        return invalfc(context, "gc_high and gc_idle_us need gc_low; give that, too, or leave them out");
    if (hybrid->gc_high_percent && hybrid->gc_high_percent < hybrid->gc_low_percent)
        return invalfc(context, "gc_high is less than gc_low; give one that is as large or larger");
    return get_tree_bdev(context, fill);
}

static bool are_same(const struct tbfs_options *one, const struct tbfs_options *other) {
    const struct tbfs_hybrid *a = &one->hybrid, *b = &other->hybrid;

    return one->data == other->data && one->metadata == other->metadata && one->atomic_bytes == other->atomic_bytes &&
           a->log_block_bytes == b->log_block_bytes && a->log_align_bytes == b->log_align_bytes &&
           a->log_write_bytes == b->log_write_bytes && a->gc_read_bytes == b->gc_read_bytes && a->read == b->read &&
           a->multi == b->multi && a->gc_low_percent == b->gc_low_percent && a->gc_high_percent == b->gc_high_percent &&
           a->gc_idle_us == b->gc_idle_us;
}

static int set_read_only(struct fs_context *context, bool read_only) {
    struct tbfs *fs = core_lock(d_inode(context->root));
    bool is_refused = !read_only && volume_of(d_inode(context->root))->has_copies;

    bool is_broken = !read_only && fs->broken;

    if (!is_refused && !is_broken)
        fs->read_only = read_only;
    core_unlock(d_inode(context->root));
    if (is_broken) {
        errorfc(context, "a rule of tbfs was broken (see dmesg); unmount it and run `tbfs check`");
        return -EROFS;
    }
    if (!is_refused)
        return 0;
    errorfc(context, "files were mapped while it was read-only, as copies; unmount it first");
    return -EBUSY;
}

static int reconfigure(struct fs_context *context) {
    const struct volume *volume = volume_of(d_inode(context->root));
    const struct mount_options *asked = context->fs_private;
    struct super_block *sb = context->root->d_sb;
    bool says = context->sb_flags_mask & SB_RDONLY;

    if (!are_same(&asked->core, &volume->fs.options) || asked->rules.barrier != volume->rules.barrier ||
        asked->rules.wprotect != volume->rules.wprotect)
        return invalfc(context, "its own options stay as they are while it is mounted; unmount it first");
    sync_filesystem(sb);
    return set_read_only(context, says ? context->sb_flags & SB_RDONLY : sb_rdonly(sb));
}

static void free_context(struct fs_context *context) { kfree(context->fs_private); }

static const struct fs_context_operations context_operations = {
    .parse_param = parse,
    .get_tree = get_tree,
    .reconfigure = reconfigure,
    .free = free_context,
};

static int begin(struct fs_context *context) {
    struct mount_options *options = kzalloc(sizeof(*options), GFP_KERNEL);

    if (!options)
        return -ENOMEM;
    options->core = (struct tbfs_options){.data = TBFS_DATA_INPLACE, .atomic_bytes = 8};
    if (context->purpose == FS_CONTEXT_FOR_RECONFIGURE) {
        const struct volume *volume = volume_of(d_inode(context->root));

        *options = (struct mount_options){volume->fs.options, volume->rules};
    }
    context->fs_private = options;
    context->ops = &context_operations;
    return 0;
}

static void unmount(struct super_block *sb) {
    struct volume *volume = sb->s_fs_info;

    if (volume)
        background_end(volume);
    kill_block_super(sb);
    if (!volume)
        return;
    pm_end(&volume->rules, volume->protected);
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

/* RCU frees inodes some time after an unmount, with code of this module, so unloading has to wait. */
static void __exit leave(void) {
    unregister_filesystem(&type);
    rcu_barrier();
}

module_init(enter);
module_exit(leave);
MODULE_ALIAS_FS("tbfs");
MODULE_DESCRIPTION("A file system that compares designs for persistent memory");
MODULE_LICENSE("GPL");
