/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads and their objects: attributes, creation, waiting for the end. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <threads.h>

#include "bounce.h"

WRAPPER_VOID(cnd_destroy, (cnd_t * COND), (COND), OUT(COND))
WRAPPER(int, cnd_init, (cnd_t * cond), (cond), OUT(cond))
WRAPPER_VOID(mtx_destroy, (mtx_t * mutex), (mutex), OUT(mutex))
WRAPPER(int, mtx_init, (mtx_t * mutex, int type), (mutex, type), OUT(mutex))
WRAPPER(int, pthread_attr_destroy, (pthread_attr_t * attr), (attr), OUT(attr))
WRAPPER(int, pthread_attr_getaffinity_np, (const pthread_attr_t *attr, size_t cpusetsize, cpu_set_t *cpuset),
        (attr, cpusetsize, cpuset), writes(cpuset, cpusetsize))
WRAPPER(int, pthread_attr_getdetachstate, (const pthread_attr_t *attr, int *detachstate), (attr, detachstate),
        OUT(detachstate))
WRAPPER(int, pthread_attr_getguardsize, (const pthread_attr_t *attr, size_t *guardsize), (attr, guardsize),
        OUT(guardsize))
WRAPPER(int, pthread_attr_getinheritsched, (const pthread_attr_t *attr, int *inherit), (attr, inherit), OUT(inherit))
WRAPPER(int, pthread_attr_getschedparam, (const pthread_attr_t *attr, struct sched_param *param), (attr, param),
        OUT(param))
WRAPPER(int, pthread_attr_getschedpolicy, (const pthread_attr_t *attr, int *policy), (attr, policy), OUT(policy))
WRAPPER(int, pthread_attr_getscope, (const pthread_attr_t *attr, int *scope), (attr, scope), OUT(scope))
WRAPPER(int, pthread_attr_getsigmask_np, (const pthread_attr_t *attr, __sigset_t *sigmask), (attr, sigmask),
        OUT(sigmask))
WRAPPER(int, pthread_attr_getstack, (const pthread_attr_t *attr, void **stackaddr, size_t *stacksize),
        (attr, stackaddr, stacksize), OUT(stackaddr);
        OUT(stacksize))
WRAPPER(int, pthread_attr_getstacksize, (const pthread_attr_t *attr, size_t *stacksize), (attr, stacksize),
        OUT(stacksize))
WRAPPER(int, pthread_attr_setaffinity_np, (pthread_attr_t * attr, size_t cpusetsize, const cpu_set_t *cpuset),
        (attr, cpusetsize, cpuset), OUT(attr))
WRAPPER(int, pthread_attr_setdetachstate, (pthread_attr_t * attr, int detachstate), (attr, detachstate), OUT(attr))
WRAPPER(int, pthread_attr_setguardsize, (pthread_attr_t * attr, size_t guardsize), (attr, guardsize), OUT(attr))
WRAPPER(int, pthread_attr_setinheritsched, (pthread_attr_t * attr, int inherit), (attr, inherit), OUT(attr))
WRAPPER(int, pthread_attr_setschedparam, (pthread_attr_t * attr, const struct sched_param *param), (attr, param),
        OUT(attr))
WRAPPER(int, pthread_attr_setschedpolicy, (pthread_attr_t * attr, int policy), (attr, policy), OUT(attr))
WRAPPER(int, pthread_attr_setscope, (pthread_attr_t * attr, int scope), (attr, scope), OUT(attr))
WRAPPER(int, pthread_attr_setsigmask_np, (pthread_attr_t * attr, const __sigset_t *sigmask), (attr, sigmask), OUT(attr))
WRAPPER(int, pthread_attr_setstack, (pthread_attr_t * attr, void *stackaddr, size_t stacksize),
        (attr, stackaddr, stacksize), OUT(attr))
WRAPPER(int, pthread_attr_setstacksize, (pthread_attr_t * attr, size_t stacksize), (attr, stacksize), OUT(attr))
WRAPPER(int, pthread_barrierattr_destroy, (pthread_barrierattr_t * attr), (attr), OUT(attr))
WRAPPER(int, pthread_barrierattr_getpshared, (const pthread_barrierattr_t *attr, int *pshared), (attr, pshared),
        OUT(pshared))
WRAPPER(int, pthread_barrierattr_init, (pthread_barrierattr_t * attr), (attr), OUT(attr))
WRAPPER(int, pthread_barrierattr_setpshared, (pthread_barrierattr_t * attr, int pshared), (attr, pshared), OUT(attr))
WRAPPER(int, pthread_clockjoin_np,
        (pthread_t th, void **thread_return, clockid_t clockid, const struct timespec *abstime),
        (th, thread_return, clockid, abstime), ASIDE(thread_return))
WRAPPER(int, pthread_condattr_destroy, (pthread_condattr_t * attr), (attr), OUT(attr))
WRAPPER(int, pthread_condattr_getclock, (const pthread_condattr_t *attr, __clockid_t *clock_id), (attr, clock_id),
        OUT(clock_id))
WRAPPER(int, pthread_condattr_getpshared, (const pthread_condattr_t *attr, int *pshared), (attr, pshared), OUT(pshared))
WRAPPER(int, pthread_condattr_init, (pthread_condattr_t * attr), (attr), OUT(attr))
WRAPPER(int, pthread_condattr_setclock, (pthread_condattr_t * attr, __clockid_t clock_id), (attr, clock_id), OUT(attr))
WRAPPER(int, pthread_condattr_setpshared, (pthread_condattr_t * attr, int pshared), (attr, pshared), OUT(attr))
WRAPPER(int, pthread_getaffinity_np, (pthread_t th, size_t cpusetsize, cpu_set_t *cpuset), (th, cpusetsize, cpuset),
        writes(cpuset, cpusetsize))
WRAPPER(int, pthread_getattr_default_np, (pthread_attr_t * attr), (attr), OUT(attr))
WRAPPER(int, pthread_getattr_np, (pthread_t th, pthread_attr_t *attr), (th, attr), OUT(attr))
WRAPPER(int, pthread_getcpuclockid, (pthread_t thread_id, __clockid_t *clock_id), (thread_id, clock_id), OUT(clock_id))
WRAPPER(int, pthread_getname_np, (pthread_t target_thread, char *buf, size_t buflen), (target_thread, buf, buflen),
        writes(buf, buflen))
WRAPPER(int, pthread_getschedparam, (pthread_t target_thread, int *policy, struct sched_param *param),
        (target_thread, policy, param), OUT(policy);
        OUT(param))
WRAPPER(int, pthread_mutex_getprioceiling, (const pthread_mutex_t *mutex, int *prioceiling), (mutex, prioceiling),
        OUT(prioceiling))
WRAPPER(int, pthread_mutex_setprioceiling, (pthread_mutex_t * mutex, int prioceiling, int *old_ceiling),
        (mutex, prioceiling, old_ceiling), OUT(mutex);
        OUT(old_ceiling))
WRAPPER(int, pthread_mutexattr_destroy, (pthread_mutexattr_t * attr), (attr), OUT(attr))
WRAPPER(int, pthread_mutexattr_getprioceiling, (const pthread_mutexattr_t *attr, int *prioceiling), (attr, prioceiling),
        OUT(prioceiling))
WRAPPER(int, pthread_mutexattr_getprotocol, (const pthread_mutexattr_t *attr, int *protocol), (attr, protocol),
        OUT(protocol))
WRAPPER(int, pthread_mutexattr_getpshared, (const pthread_mutexattr_t *attr, int *pshared), (attr, pshared),
        OUT(pshared))
WRAPPER(int, pthread_mutexattr_getrobust, (const pthread_mutexattr_t *attr, int *robustness), (attr, robustness),
        OUT(robustness))
WRAPPER(int, pthread_mutexattr_gettype, (const pthread_mutexattr_t *attr, int *kind), (attr, kind), OUT(kind))
WRAPPER(int, pthread_mutexattr_setprioceiling, (pthread_mutexattr_t * attr, int prioceiling), (attr, prioceiling),
        OUT(attr))
WRAPPER(int, pthread_mutexattr_setprotocol, (pthread_mutexattr_t * attr, int protocol), (attr, protocol), OUT(attr))
WRAPPER(int, pthread_rwlockattr_destroy, (pthread_rwlockattr_t * attr), (attr), OUT(attr))
WRAPPER(int, pthread_rwlockattr_getkind_np, (const pthread_rwlockattr_t *attr, int *pref), (attr, pref), OUT(pref))
WRAPPER(int, pthread_rwlockattr_getpshared, (const pthread_rwlockattr_t *attr, int *pshared), (attr, pshared),
        OUT(pshared))
WRAPPER(int, pthread_rwlockattr_init, (pthread_rwlockattr_t * attr), (attr), OUT(attr))
WRAPPER(int, pthread_rwlockattr_setkind_np, (pthread_rwlockattr_t * attr, int pref), (attr, pref), OUT(attr))
WRAPPER(int, pthread_rwlockattr_setpshared, (pthread_rwlockattr_t * attr, int pshared), (attr, pshared), OUT(attr))
WRAPPER(int, pthread_setcancelstate, (int state, int *oldstate), (state, oldstate), OUT(oldstate))
WRAPPER(int, pthread_setcanceltype, (int type, int *oldtype), (type, oldtype), OUT(oldtype))
WRAPPER(int, pthread_sigmask, (int how, const __sigset_t *newmask, __sigset_t *oldmask), (how, newmask, oldmask),
        OUT(oldmask))
WRAPPER(int, pthread_timedjoin_np, (pthread_t th, void **thread_return, const struct timespec *abstime),
        (th, thread_return, abstime), ASIDE(thread_return))
WRAPPER(int, pthread_tryjoin_np, (pthread_t th, void **thread_return), (th, thread_return), ASIDE(thread_return))
WRAPPER(int, thrd_create, (thrd_t * thr, thrd_start_t func, void *arg), (thr, func, arg), OUT(thr))
WRAPPER(int, thrd_join, (thrd_t thr, int *res), (thr, res), ASIDE(res))
WRAPPER(int, thrd_sleep, (const struct timespec *time_point, struct timespec *remaining), (time_point, remaining),
        ASIDE(remaining))
WRAPPER(int, tss_create, (tss_t * tss_id, tss_dtor_t destructor), (tss_id, destructor), OUT(tss_id))
