/*
 * CXL memory-semantic SSD: the guest's job. The guest boots, stops to ask for
 * its job, and receives the job as a file of fw_cfg. The guest then continues
 * in this process, or in a copy of it, so that one boot serves many jobs.
 *
 * A copy is a fork. All state that the guest can see is memory of this process,
 * which the fork copies unchanged. The fork lacks the other threads, and starts
 * new ones.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */

#include "qemu/osdep.h"
#include "qemu/error-report.h"
#include "cxl-ssd-internal.h"
#include "exec/cpu-common.h"
#include "hw/mem/cpu-timing.h"
#include "mem-trace.h"
#include "hw/nvram/fw_cfg.h"
#include "persist-journal.h"
#include "persist-reads.h"
#include "qapi/error.h"
#include "qapi/qapi-commands-cxl-ssd.h"
#include "qapi/qapi-events-cxl-ssd.h"
#include "qemu/guest-random.h"
#include "qemu/rcu.h"
#include "system/cpus.h"
#include "system/runstate.h"
#include "system/vcpu-clocks.h"
#include <sys/prctl.h>
#include <sys/wait.h>

/* The guest looks for the archive in this file; -fw_cfg makes room for it. */
#define JOB_FILE "opt/testbed/job"

static struct {
    bool awaited;               /* the guest must stop when it asks */
    bool asked;                 /* the guest has asked */
} job;

/*
 * Asking
 */

static void shift_tick_work(CPUState *cpu, run_on_cpu_data unused)
{
    vcpu_clocks_shift_tick();
}

/*
 * The vCPU continues only when the VM has stopped. Otherwise it would execute
 * more instructions or let idle time pass, or not, depending on the host. Work
 * that is queued for any vCPU meanwhile is done here, or its requester would
 * wait for ever.
 */
static void ask_work(CPUState *cpu, run_on_cpu_data unused)
{
    CPUState *each;

    job.asked = true;           /* until the VM runs again, job or not */
    qemu_system_vmstop_request_prepare();
    qemu_system_vmstop_request(RUN_STATE_PAUSED);
    while (runstate_is_running()) {
        CPU_FOREACH(each) {
            process_queued_cpu_work(each);
        }
        qemu_cond_wait_bql(cpu->halt_cond);
    }
}

void cxl_ssd_job_ask(CPUState *cpu)
{
    if (vcpu_clocks_have_seed()) {
        async_run_on_cpu(cpu, shift_tick_work, RUN_ON_CPU_NULL);
    }
    if (job.awaited) {
        async_run_on_cpu(cpu, ask_work, RUN_ON_CPU_NULL);
    }
}

static void job_goes_on(void *opaque, bool running, RunState state)
{
    if (running) {
        job.asked = false;
    }
}

void qmp_cxl_ssd_job_await(Error **errp)
{
    if (!job.awaited) {
        qemu_add_vm_change_state_handler(job_goes_on, NULL);
    }
    job.awaited = true;
}

/*
 * Delivery
 */

/*
 * The archive @file if the guest waits for its job; otherwise NULL and an
 * error.
 */
static char *job_read(const char *file, gsize *size_bytes, Error **errp)
{
    g_autoptr(GError) fault = NULL;
    char *content;

    if (!job.asked || runstate_is_running()) {
        error_setg(errp, "the guest is not waiting for its job");
        return NULL;
    }
    if (!g_file_get_contents(file, &content, size_bytes, &fault)) {
        error_setg(errp, "%s", fault->message);
        return NULL;
    }
    if (*size_bytes >= UINT32_MAX) {
        error_setg(errp, "%s: a job is less than 4 GiB", file);
        g_free(content);
        return NULL;
    }
    return content;
}

/*
 * The random numbers of a thread are lost with it. So they start anew for every
 * job, in a copy or not.
 */
static void reseed_work(CPUState *cpu, run_on_cpu_data unused)
{
    qemu_guest_random_reseed_thread(cpu->random_seed);
}

/*
 * The state at the begin of a job
 */

/* A line of a device, as in a file of media: little-endian. */
typedef struct MediaLine {
    uint64_t device;
    uint64_t dpa;
    uint8_t bytes[MEMSYS_LINE_BYTES];
} MediaLine;

static bool media_line_fits(const MediaLine *line)
{
    uint64_t device = le64_to_cpu(line->device), dpa = le64_to_cpu(line->dpa);
    CXLSSDState *s = device < cxl_ssd_count ? cxl_ssds[device] : NULL;

    return s && !(dpa % MEMSYS_LINE_BYTES) &&
           dpa >= s->config.volatile_bytes && dpa < s->config.capacity_bytes &&
           !cxl_ssd_interleaved(s, dpa);
}

/* The lines in @file; NULL and an error if it contains anything else. */
static MediaLine *media_read(const char *file, gsize *count, Error **errp)
{
    g_autoptr(GError) fault = NULL;
    g_autofree char *content = NULL;
    MediaLine *lines;

    if (!g_file_get_contents(file, &content, count, &fault)) {
        error_setg(errp, "%s", fault->message);
        return NULL;
    }
    lines = (MediaLine *)content;
    if (*count % sizeof(MediaLine)) {
        error_setg(errp, "%s: it ends within a line", file);
        return NULL;
    }
    *count /= sizeof(MediaLine);
    for (gsize i = 0; i < *count; i++) {
        if (!media_line_fits(&lines[i])) {
            error_setg(errp, "%s: line %zu is of no device's own persistent "
                       "memory", file, i);
            return NULL;
        }
    }
    return (MediaLine *)g_steal_pointer(&content);
}

/*
 * Reset the media to the content of their files, and then write these lines.
 * MADV_DONTNEED makes the kernel drop all writes to a private mapping.
 */
static void media_begin(const MediaLine *lines, gsize count)
{
    for (unsigned i = 0; i < cxl_ssd_count; i++) {
        const MemDeviceConfig *config = &cxl_ssds[i]->config;
        uint64_t bytes = config->capacity_bytes - config->volatile_bytes;

        if (bytes && madvise(cxl_ssd_backing(cxl_ssds[i],
                                             config->volatile_bytes),
                             bytes, MADV_DONTNEED)) {
            error_report("the media cannot begin anew: %s", strerror(errno));
            exit(EXIT_FAILURE);
        }
    }
    for (gsize i = 0; i < count; i++) {
        memcpy(cxl_ssd_backing(cxl_ssds[le64_to_cpu(lines[i].device)],
                               le64_to_cpu(lines[i].dpa)),
               lines[i].bytes, MEMSYS_LINE_BYTES);
    }
}

static int find_shared(RAMBlock *block, void *shared)
{
    if (!qemu_ram_is_shared(block)) {
        return 0;
    }
    *(RAMBlock **)shared = block;
    return 1;
}

typedef struct JobBegin {
    MediaLine *lines;           /* NULL: the media stay as they are */
    gsize line_count;
    FILE *reads;                /* NULL: reads are not recorded */
} JobBegin;

static bool job_begin_read(JobBegin *begin, const char *media,
                           const char *reads, Error **errp)
{
    RAMBlock *shared = NULL;

    if (media) {
        if (qemu_ram_foreach_block(find_shared, &shared)) {
            error_setg(errp, "media begin as their files only where they are "
                       "no shared memory (%s)", qemu_ram_get_idstr(shared));
            return false;
        }
        begin->lines = media_read(media, &begin->line_count, errp);
        if (!begin->lines) {
            return false;
        }
    }
    if (reads) {
        begin->reads = fopen(reads, "wb");
        if (!begin->reads) {
            error_setg_errno(errp, errno, "%s", reads);
            g_free(begin->lines);
            return false;
        }
    }
    return true;
}

static void job_begin_drop(JobBegin *begin)
{
    g_free(begin->lines);
    if (begin->reads) {
        fclose(begin->reads);
    }
}

static void job_begin(JobBegin *begin, char *content, gsize size_bytes)
{
    if (begin->lines) {
        media_begin(begin->lines, begin->line_count);
        g_free(begin->lines);
    }
    if (begin->reads) {
        persist_reads_begin(begin->reads);
    }
    g_free(fw_cfg_modify_file(fw_cfg_find(), JOB_FILE, content, size_bytes));
    run_on_cpu(first_cpu, reseed_work, RUN_ON_CPU_NULL);
    vm_start();
}

void qmp_cxl_ssd_job_run(const char *file, const char *media,
                         const char *reads, Error **errp)
{
    gsize size_bytes;
    g_autofree char *content = job_read(file, &size_bytes, errp);
    JobBegin begin = {};

    if (content && job_begin_read(&begin, media, reads, errp)) {
        job_begin(&begin, g_steal_pointer(&content), size_bytes);
    }
}

/*
 * Copies
 */

static bool may_copy(Error **errp)
{
    RAMBlock *shared = NULL;

    if (cpu_timing_helper_thread()) {
        error_setg(errp, "a guest with helper-thread=on cannot be copied");
    } else if (mem_trace_is_on()) {
        error_setg(errp, "a guest with a mem-trace cannot be copied");
    } else if (persist_journal_is_on()) {
        error_setg(errp, "a guest with a persist-journal cannot be copied");
    } else if (qemu_ram_foreach_block(find_shared, &shared)) {
        error_setg(errp, "a guest with shared memory (%s) cannot be copied: "
                   "all copies would write to it", qemu_ram_get_idstr(shared));
    } else {
        return true;
    }
    return false;
}

/* QEMU excludes guest memory from forks, which only start other programs. */
static int let_fork(RAMBlock *block, void *unused)
{
    return madvise(qemu_ram_get_host_addr(block),
                   qemu_ram_get_max_length(block), MADV_DOFORK);
}

/* As fork(). A copy ends with the process from which it was copied. */
static pid_t fork_self(void)
{
    pid_t self = getpid(), child;

    if (qemu_ram_foreach_block(let_fork, NULL)) {
        return -1;
    }
    drain_call_rcu();
    rcu_enable_atfork();
    child = fork();
    rcu_disable_atfork();
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self) {
            _exit(EXIT_FAILURE);
        }
    }
    return child;
}

/*
 * The copy answers on this process's monitors, and writes to its files, until
 * the copy ends. Meanwhile this process only waits.
 */
void qmp_cxl_ssd_job_run_in_copy(const char *file, const char *media,
                                 const char *reads, Error **errp)
{
    gsize size_bytes;
    g_autofree char *content = job_read(file, &size_bytes, errp);
    JobBegin begin = {};
    pid_t child;

    if (!content || !may_copy(errp) ||
        !job_begin_read(&begin, media, reads, errp)) {
        return;
    }
    child = fork_self();
    if (child < 0) {
        error_setg_errno(errp, errno, "the guest cannot be copied");
        job_begin_drop(&begin);
    } else if (child) {
        job_begin_drop(&begin);
        RETRY_ON_EINTR(waitpid(child, NULL, 0));
        qapi_event_send_cxl_ssd_copy_ended(child);
    } else {
        cpus_restart_after_fork();
        qapi_event_send_cxl_ssd_copy_begun(getpid());
        job_begin(&begin, g_steal_pointer(&content), size_bytes);
    }
}
