/*
 * Timed memory: accesses on which a separate thread of the model works.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/processor.h"
#include "qemu/thread.h"
#include "timed-mem-internal.h"

/* Limits of the posts at once; the time to the next event decides. */
#define MOST_POSTS       8192
#define LEAST_POSTS      512
/* After a posting of fewer accesses, the next ones are not posted. */
#define WORTHWHILE_POSTS 16
#define DIRECT_ACCESSES  64
/* Looks for work before the helper goes to sleep. */
#define HELPER_LOOKS     20000
/*
 * Looks at an unfinished helper after which the vCPU assumes that other
 * processes need the host: it yields, and then posts none of the next
 * BACK_OFF_ACCESSES.
 */
#define SETTLE_LOOKS     20000
#define BACK_OFF_ACCESSES (1 << 17)

static struct {
    QemuThread thread;
    QemuEvent work;
    bool asleep;
} helper;

/*
 * The model's address is an argument: timed_mem_model may lie in a host cache
 * line to which the vCPU writes all the time.
 */
static void *helper_run(void *memsys)
{
    int looks = 0;

    for (;;) {
        if (memsys_run_posted(memsys)) {
            looks = 0;
        } else if (++looks < HELPER_LOOKS) {
            cpu_relax();
        } else {
            qemu_event_reset(&helper.work);
            qatomic_set(&helper.asleep, true);
            qemu_event_wait(&helper.work);
            qatomic_set(&helper.asleep, false);
            looks = 0;
        }
    }
    return NULL;
}

static void wake_helper(void)
{
    if (qatomic_read(&helper.asleep)) {
        qemu_event_set(&helper.work);
    }
}

/* Accesses that are not posted after a posting that ends now. */
static int direct_after(const TimedMemPosting *posting, int looks)
{
    if (looks >= SETTLE_LOOKS) {
        return BACK_OFF_ACCESSES;
    }
    return posting->most - posting->left < WORTHWHILE_POSTS ? DIRECT_ACCESSES
                                                            : 0;
}

void timed_mem_settle(CPUState *cpu)
{
    TimedMemPosting *posting = &timed_mem_vcpu(cpu)->posting;
    mem_ps stall_ps;
    int looks = 0;

    if (!posting->active) {
        return;
    }
    while (!memsys_settle(timed_mem_model, &stall_ps)) {
        if (++looks < SETTLE_LOOKS) {
            cpu_relax();
        } else {
            sched_yield();
        }
    }
    posting->active = false;
    posting->direct = direct_after(posting, looks);
    posting->left = 0;
    icount_charge_ps(cpu, stall_ps);
}

bool timed_mem_begin_posting(TimedMemPosting *posting, CPUState *cpu)
{
    if (posting->direct > 0) {
        posting->direct--;
        return false;
    }
    if (posting->active || !memsys_may_post(timed_mem_model)) {
        return false;
    }
    for (int posts = MOST_POSTS; posts >= LEAST_POSTS; posts /= 2) {
        if (icount_reserve_ps(cpu, memsys_post_bound(timed_mem_model,
                                                     icount_now_ps(cpu),
                                                     posts))) {
            posting->active = true;
            posting->left = posting->most = posts;
            wake_helper();
            return true;
        }
    }
    posting->direct = DIRECT_ACCESSES;
    return false;
}

bool timed_mem_post_later(hwaddr paddr, bool store, mem_ps now_ps,
                          uint32_t *slot, bool *missed)
{
    for (int looks = 0; looks < SETTLE_LOOKS; looks++) {
        wake_helper();
        cpu_relax();
        if (memsys_post(timed_mem_model, paddr, store, now_ps, slot, missed)) {
            return true;
        }
    }
    return false;
}

void timed_mem_start_posting(void)
{
    icount_settle_stalls = timed_mem_settle;
    qemu_event_init(&helper.work, false);
    qemu_thread_create(&helper.thread, "memsys", helper_run, timed_mem_model,
                       QEMU_THREAD_DETACHED);
}
