/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
/* The least kernel module, to start from: docs/howto/kernel.md. */
#include <linux/module.h>

static int __init hello(void) {
    pr_info("hello from a module\n");
    return 0;
}

static void __exit goodbye(void) {}

module_init(hello);
module_exit(goodbye);
MODULE_DESCRIPTION("Says hello");
MODULE_LICENSE("Dual BSD/GPL");
