// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Merges logs in the background, when space is short and no call has come for some time. A page with a log is mapped by
 * no process, and stays unmapped while the core's lock is held. So that lock suffices.
 */
#include "glue.h"

static unsigned long idle_time(const struct volume *volume) {
    return usecs_to_jiffies(volume->fs.options.hybrid.gc_idle_us);
}

/* False: nothing more can be done now. The next call wakes the merging again. */
static bool merge_one(struct volume *volume) {
    bool is_idle, has_more;

    mutex_lock(&volume->lock);
    is_idle = volume->calls == volume->calls_seen;
    has_more = is_idle && tbfs_merge_some(&volume->fs);
    if (!is_idle && tbfs_wants_merge(&volume->fs))
        background_wake(volume);
    mutex_unlock(&volume->lock);
    return has_more;
}

static void merge_all(struct work_struct *work) {
    struct volume *volume = container_of(to_delayed_work(work), struct volume, merging);

    while (merge_one(volume))
        cond_resched();
}

void background_init(struct volume *volume) {
    volume->may_merge = true;
    INIT_DELAYED_WORK(&volume->merging, merge_all);
}

void background_wake(struct volume *volume) {
    if (volume->may_merge && schedule_delayed_work(&volume->merging, idle_time(volume)))
        volume->calls_seen = volume->calls;
}

void background_end(struct volume *volume) {
    mutex_lock(&volume->lock);
    volume->may_merge = false;
    mutex_unlock(&volume->lock);
    cancel_delayed_work_sync(&volume->merging);
}
