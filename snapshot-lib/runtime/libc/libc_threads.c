/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Locks and semaphores, which may lie in tracked memory. Other threads may commit during a wait. After a crash a lock
 * has its state at some moment of the committed epoch. The program that opens the file initialises it, like any lock of
 * a holder that is gone.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <threads.h>

#include "base/epochs.h"
#include "bounce.h"

#define ATTRIBUTES(kind) const pthread_##kind##attr_t *attributes
#define INIT(kind)                                                                                                     \
    WRAPPER(int, pthread_##kind##_init, (pthread_##kind##_t * object, ATTRIBUTES(kind)), (object, attributes),         \
            OUT(object))                                                                                               \
    WRAPPER(int, pthread_##kind##_destroy, (pthread_##kind##_t * object), (object), OUT(object))
#define CALL(kind, name) WRAPPER(int, pthread_##kind##_##name, (pthread_##kind##_t * object), (object), LOCK(object))
/*
 * A lock is free most times. A thread that finds it taken has made its stores, and waits, perhaps during a commit. A
 * lock in a tracked file is announced again, so that the thread is inside while it waits: the call stores to the lock.
 */
#define TAKE(name, parameters, arguments, attempt, taken)                                                              \
    int WRAP(name) parameters;                                                                                         \
    int WRAP(name) parameters {                                                                                        \
        LOCK(object);                                                                                                  \
        int status = attempt;                                                                                          \
        if (status != (taken))                                                                                         \
            return status;                                                                                             \
        WAIT(object);                                                                                                  \
        return name arguments;                                                                                         \
    }
#define TAKE_CALL(kind, name, try)                                                                                     \
    TAKE(pthread_##kind##_##name, (pthread_##kind##_t * object), (object), pthread_##kind##_##try(object), EBUSY)
/* The call itself with a time that is over, so that it rejects the same clocks and times as without a wrapper. */
#define OVER(until) (&(struct timespec){.tv_nsec = (until)->tv_nsec})
#define TAKE_TIMED(kind, name)                                                                                         \
    TAKE(pthread_##kind##_##name, (pthread_##kind##_t * object, const struct timespec *until), (object, until),        \
         pthread_##kind##_##name(object, OVER(until)), ETIMEDOUT)
#define TAKE_CLOCKED(kind, name)                                                                                       \
    TAKE(pthread_##kind##_##name, (pthread_##kind##_t * object, clockid_t clock, const struct timespec *until),        \
         (object, clock, until), pthread_##kind##_##name(object, clock, OVER(until)), ETIMEDOUT)

INIT(mutex)
TAKE_CALL(mutex, lock, trylock)
CALL(mutex, trylock)
TAKE_TIMED(mutex, timedlock)
TAKE_CLOCKED(mutex, clocklock)
CALL(mutex, unlock)
CALL(mutex, consistent)

INIT(rwlock)
TAKE_CALL(rwlock, rdlock, tryrdlock)
CALL(rwlock, tryrdlock)
TAKE_TIMED(rwlock, timedrdlock)
TAKE_CALL(rwlock, wrlock, trywrlock)
CALL(rwlock, trywrlock)
TAKE_TIMED(rwlock, timedwrlock)
TAKE_CLOCKED(rwlock, clockrdlock)
TAKE_CLOCKED(rwlock, clockwrlock)
CALL(rwlock, unlock)

INIT(cond)
CALL(cond, signal)
CALL(cond, broadcast)
WRAPPER(int, pthread_cond_wait, (pthread_cond_t * object, pthread_mutex_t *mutex), (object, mutex), WAIT(object);
        OUT(mutex))
WRAPPER(int, pthread_cond_timedwait, (pthread_cond_t * object, pthread_mutex_t *mutex, const struct timespec *until),
        (object, mutex, until), WAIT(object);
        OUT(mutex))

WRAPPER(int, pthread_cond_clockwait,
        (pthread_cond_t * object, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until),
        (object, mutex, clock, until), WAIT(object);
        OUT(mutex))

WRAPPER(int, pthread_barrier_init, (pthread_barrier_t * object, ATTRIBUTES(barrier), unsigned count),
        (object, attributes, count), OUT(object))
WRAPPER(int, pthread_barrier_destroy, (pthread_barrier_t * object), (object), OUT(object))
WRAPPER(int, pthread_barrier_wait, (pthread_barrier_t * object), (object), WAIT(object); epochs_wait())

WRAPPER(int, pthread_spin_init, (pthread_spinlock_t * object, int shared), (object, shared), OUT(object))
WRAPPER(int, pthread_spin_destroy, (pthread_spinlock_t * object), (object), OUT(object))
TAKE(pthread_spin_lock, (pthread_spinlock_t * object), (object), pthread_spin_trylock(object), EBUSY)
WRAPPER(int, pthread_spin_trylock, (pthread_spinlock_t * object), (object), LOCK(object))
WRAPPER(int, pthread_spin_unlock, (pthread_spinlock_t * object), (object), LOCK(object))

WRAPPER(int, sem_init, (sem_t * object, int shared, unsigned value), (object, shared, value), OUT(object))
WRAPPER(int, sem_destroy, (sem_t * object), (object), OUT(object))
WRAPPER(int, sem_wait, (sem_t * object), (object), WAIT(object))
WRAPPER(int, sem_trywait, (sem_t * object), (object), LOCK(object))
WRAPPER(int, sem_timedwait, (sem_t * object, const struct timespec *until), (object, until), WAIT(object))
WRAPPER(int, sem_clockwait, (sem_t * object, clockid_t clock, const struct timespec *until), (object, clock, until),
        WAIT(object))
/* A signal handler may call sem_post() between an announcement and its store, so the thread does not leave. */
WRAPPER(int, sem_post, (sem_t * object), (object), OUT(object))
WRAPPER(int, sem_getvalue, (sem_t * object, int *value), (object, value), OUT(value))

WRAPPER(int, pthread_create,
        (pthread_t * thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument),
        (thread, attributes, routine, argument), OUT(thread))
WRAPPER(int, pthread_join, (pthread_t thread, void **result), (thread, result), thread_waits(); epochs_wait();
        ASIDE(result))
WRAPPER(int, pthread_key_create, (pthread_key_t * key, void (*end)(void *)), (key, end), OUT(key))
WRAPPER(int, pthread_mutexattr_init, (pthread_mutexattr_t * object), (object), OUT(object))
WRAPPER(int, pthread_mutexattr_settype, (pthread_mutexattr_t * object, int value), (object, value), OUT(object))
WRAPPER(int, pthread_mutexattr_setpshared, (pthread_mutexattr_t * object, int value), (object, value), OUT(object))
WRAPPER(int, pthread_mutexattr_setrobust, (pthread_mutexattr_t * object, int value), (object, value), OUT(object))
WRAPPER(int, pthread_attr_init, (pthread_attr_t * object), (object), OUT(object))

/* The C11 types are the same objects. */
#define C11_CALL(name, type) WRAPPER(int, name, (type * object), (object), LOCK(object))
TAKE(mtx_lock, (mtx_t * object), (object), mtx_trylock(object), thrd_busy)
C11_CALL(mtx_trylock, mtx_t)
C11_CALL(mtx_unlock, mtx_t)
C11_CALL(cnd_signal, cnd_t)
C11_CALL(cnd_broadcast, cnd_t)
TAKE(mtx_timedlock, (mtx_t * object, const struct timespec *until), (object, until), mtx_timedlock(object, OVER(until)),
     thrd_timedout)
WRAPPER(int, cnd_wait, (cnd_t * object, mtx_t *mutex), (object, mutex), WAIT(object); OUT(mutex))
WRAPPER(int, cnd_timedwait, (cnd_t * object, mtx_t *mutex, const struct timespec *until), (object, mutex, until),
        WAIT(object);
        OUT(mutex))
