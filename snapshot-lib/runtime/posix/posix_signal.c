/* SPDX-License-Identifier: BSD-3-Clause */
/* Signal masks without SIGSEGV, in libsnapshot-pages only: the tracker `mprotect` finds stores by this signal. */
#define _GNU_SOURCE
#include "posix.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LIBC_SIGNAL = 32, LIBC_SIGNAL_NEXT }; /* libc sends them to threads, and lets nobody block them */

static int mask_set(int how, const sigset_t *set, sigset_t *old) {
    return syscall(SYS_rt_sigprocmask, how, set, old, _NSIG / 8) < 0 ? -errno : 0;
}

static int mask_change(int how, const sigset_t *set, sigset_t *old) {
    const unsigned long of_libc = 1ul << (LIBC_SIGNAL - 1) | 1ul << (LIBC_SIGNAL_NEXT - 1);
    if (!set || how == SIG_UNBLOCK)
        return mask_set(how, set, old);
    sigset_t blocked = *set;
    sigdelset(&blocked, SIGSEGV);
    blocked.__val[0] &= ~of_libc;
    return mask_set(how, &blocked, old);
}

int INTERPOSED(pthread_sigmask)(int how, const sigset_t *set, sigset_t *old);
int INTERPOSED(pthread_sigmask)(int how, const sigset_t *set, sigset_t *old) {
    int saved = errno, status = mask_change(how, set, old);
    errno = saved;
    return -status;
}

int INTERPOSED(sigprocmask)(int how, const sigset_t *set, sigset_t *old);
int INTERPOSED(sigprocmask)(int how, const sigset_t *set, sigset_t *old) {
    return posix_result(mask_change(how, set, old));
}
