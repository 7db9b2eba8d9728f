/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks, calendars, random numbers. */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "libc_wrap.h"

WRAPPER(time_t, time, (time_t *now), (now), OUT(now))
WRAPPER(int, gettimeofday, (struct timeval * now, void *zone), (now, zone), OUT(now);
        writes(zone, sizeof(struct timezone)))
WRAPPER(int, clock_gettime, (clockid_t clock, struct timespec *now), (clock, now), OUT(now))
WRAPPER(int, clock_getres, (clockid_t clock, struct timespec *now), (clock, now), OUT(now))
WRAPPER(int, timespec_get, (struct timespec * now, int base), (now, base), OUT(now))
WRAPPER(clock_t, times, (struct tms * now), (now), OUT(now))
WRAPPER(int, getrusage, (int who, struct rusage *usage), (who, usage), OUT(usage))
WRAPPER(int, getrlimit, (int what, struct rlimit *limit), (what, limit), OUT(limit))

WRAPPER(struct tm *, localtime_r, (const time_t *time, struct tm *parts), (time, parts), OUT(parts))
WRAPPER(struct tm *, gmtime_r, (const time_t *time, struct tm *parts), (time, parts), OUT(parts))
WRAPPER(time_t, mktime, (struct tm * parts), (parts), OUT(parts))
WRAPPER(time_t, timegm, (struct tm * parts), (parts), OUT(parts))
WRAPPER(char *, asctime_r, (const struct tm *parts, char *to), (parts, to), writes(to, 26))
WRAPPER(char *, ctime_r, (const time_t *time, char *to), (time, to), writes(to, 26))
WRAPPER(char *, strptime, (const char *text, const char *format, struct tm *parts), (text, format, parts), OUT(parts))

WRAPPER(size_t, strftime, (char *to, size_t n, const char *format, const struct tm *parts), (to, n, format, parts),
        writes(to, n))

WRAPPER(int, rand_r, (unsigned *state), (state), OUT(state))
WRAPPER(int, random_r, (struct random_data * state, int32_t *result), (state, result), OUT(state); OUT(result);
        if (tracked(state)) writes(state->state, 256))
WRAPPER(double, erand48, (unsigned short state[3]), (state), writes(state, 6))
WRAPPER(long, nrand48, (unsigned short state[3]), (state), writes(state, 6))
WRAPPER(long, jrand48, (unsigned short state[3]), (state), writes(state, 6))
WRAPPER(int, drand48_r, (struct drand48_data * state, double *result), (state, result), OUT(state); OUT(result))
WRAPPER(int, lrand48_r, (struct drand48_data * state, long *result), (state, result), OUT(state); OUT(result))
WRAPPER(int, mrand48_r, (struct drand48_data * state, long *result), (state, result), OUT(state); OUT(result))
WRAPPER(int, srand48_r, (long seed, struct drand48_data *state), (seed, state), OUT(state))
