/* SPDX-License-Identifier: BSD-3-Clause */
/* std::exception_ptr and std::condition_variable that lie in tracked memory. Names are mangled. */
#define _GNU_SOURCE
#include <pthread.h>

#include "libc/bounce.h"

/* One pointer. The release of an exception runs its destructor, which is code of the program. */
#define METHOD(name)                                                                                                   \
    void name(void **self);                                                                                            \
    WRAPPER_VOID(name, (void **self), (self), ASIDE(self))
METHOD(_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv)
METHOD(_ZNSt15__exception_ptr13exception_ptrC1Ev)
METHOD(_ZNSt15__exception_ptr13exception_ptrC2Ev)
METHOD(_ZNSt15__exception_ptr13exception_ptrD1Ev)
METHOD(_ZNSt15__exception_ptr13exception_ptrD2Ev)

#define METHOD_OF(type, name, announce)                                                                                \
    type name(void **self, void **other);                                                                              \
    type WRAP(name)(void **self, void **other);                                                                        \
    type WRAP(name)(void **self, void **other) {                                                                       \
        void **object = self;                                                                                          \
        announce;                                                                                                      \
        name(self, other);                                                                                             \
        return (type)object;                                                                                           \
    }
METHOD_OF(void *, _ZNSt15__exception_ptr13exception_ptrC1ERKS0_, ASIDE(self))
METHOD_OF(void *, _ZNSt15__exception_ptr13exception_ptrC2ERKS0_, ASIDE(self))
METHOD_OF(void *, _ZNSt15__exception_ptr13exception_ptrC1EPv, ASIDE(self))
METHOD_OF(void *, _ZNSt15__exception_ptr13exception_ptraSERKS0_, ASIDE(self))
METHOD_OF(void *, _ZNSt15__exception_ptr13exception_ptr4swapERS0_, ASIDE(self); ASIDE(other))

/* A pthread_cond_t; the other argument leads to the mutex. */
#define CONDITION(name)                                                                                                \
    void name(pthread_cond_t *self);                                                                                   \
    void WRAP(name)(pthread_cond_t * self);                                                                            \
    void WRAP(name)(pthread_cond_t * self) {                                                                           \
        LOCK(self);                                                                                                    \
        name(self);                                                                                                    \
    }
CONDITION(_ZNSt18condition_variableC1Ev)
CONDITION(_ZNSt18condition_variableC2Ev)
CONDITION(_ZNSt18condition_variableD1Ev)
CONDITION(_ZNSt18condition_variableD2Ev)
CONDITION(_ZNSt18condition_variable10notify_oneEv)
CONDITION(_ZNSt18condition_variable10notify_allEv)

#define CONDITION_WAIT _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
#define EXPANDED(name) WRAP(name)
void CONDITION_WAIT(pthread_cond_t *self, pthread_mutex_t **lock);
void EXPANDED(CONDITION_WAIT)(pthread_cond_t *self, pthread_mutex_t **lock);
void EXPANDED(CONDITION_WAIT)(pthread_cond_t *self, pthread_mutex_t **lock) {
    WAIT(self);
    OUT(*lock);
    CONDITION_WAIT(self, lock);
    LOCK(self);
    LOCK(*lock);
}
