/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/*
 * Errors that a kernel with checks must report: two locks in both orders, and a store of a byte behind an allocation.
 * The store comes last, because the kernel stops checking locks after it.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

static DEFINE_MUTEX(one);
static DEFINE_MUTEX(other);
static size_t behind = 24;

static void take_both(struct mutex *first, struct mutex *second) {
    mutex_lock(first);
    mutex_lock(second);
    mutex_unlock(second);
    mutex_unlock(first);
}

static int __init faulty(void) {
    take_both(&one, &other);
    take_both(&other, &one);
    char *bytes = kmalloc(24, GFP_KERNEL);
    if (!bytes)
        return -ENOMEM;
    OPTIMIZER_HIDE_VAR(behind);
    WRITE_ONCE(bytes[behind], 1);
    kfree(bytes);
    return 0;
}

static void __exit faultless(void) {}

module_init(faulty);
module_exit(faultless);
MODULE_DESCRIPTION("Breaks two rules");
MODULE_LICENSE("Dual BSD/GPL");
