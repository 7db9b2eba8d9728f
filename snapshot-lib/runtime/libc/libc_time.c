/* SPDX-License-Identifier: BSD-3-Clause */
/* Clocks, calendars, random numbers. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/timex.h>
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

WRAPPER(int, adjtime, (const struct timeval *delta, struct timeval *olddelta), (delta, olddelta), OUT(olddelta))
WRAPPER(int, adjtimex, (struct timex * ntx), (ntx), OUT(ntx))
WRAPPER(int, clock_adjtime, (__clockid_t clock_id, struct timex *utx), (clock_id, utx), OUT(utx))
WRAPPER(int, clock_getcpuclockid, (pid_t pid, clockid_t *clock_id), (pid, clock_id), OUT(clock_id))
WRAPPER(int, erand48_r, (unsigned short *xsubi, struct drand48_data *buffer, double *result), (xsubi, buffer, result),
        writes(xsubi, 6);
        OUT(buffer); OUT(result))
WRAPPER(int, getitimer, (__itimer_which_t which, struct itimerval *value), (which, value), OUT(value))
WRAPPER(int, getrlimit64, (__rlimit_resource_t resource, struct rlimit64 *rlimits), (resource, rlimits), OUT(rlimits))
WRAPPER(int, initstate_r, (unsigned int seed, char *statebuf, size_t statelen, struct random_data *buf),
        (seed, statebuf, statelen, buf), writes(statebuf, statelen);
        OUT(buf))
WRAPPER(int, jrand48_r, (unsigned short *xsubi, struct drand48_data *buffer, long *result), (xsubi, buffer, result),
        writes(xsubi, 6);
        OUT(buffer); OUT(result))
WRAPPER(int, lcong48_r, (unsigned short *param, struct drand48_data *buffer), (param, buffer), OUT(buffer))
WRAPPER(int, nrand48_r, (unsigned short *xsubi, struct drand48_data *buffer, long *result), (xsubi, buffer, result),
        writes(xsubi, 6);
        OUT(buffer); OUT(result))
WRAPPER(int, ntp_adjtime, (struct timex * tntx), (tntx), OUT(tntx))
WRAPPER(int, ntp_gettimex, (struct ntptimeval * ntv), (ntv), OUT(ntv))
WRAPPER(int, prlimit,
        (__pid_t pid, enum __rlimit_resource resource, const struct rlimit *new_limit, struct rlimit *old_limit),
        (pid, resource, new_limit, old_limit), OUT(old_limit))
WRAPPER(int, prlimit64,
        (__pid_t pid, enum __rlimit_resource resource, const struct rlimit64 *new_limit, struct rlimit64 *old_limit),
        (pid, resource, new_limit, old_limit), OUT(old_limit))
WRAPPER(int, seed48_r, (unsigned short *seed16v, struct drand48_data *buffer), (seed16v, buffer), OUT(buffer))
WRAPPER(int, setitimer, (__itimer_which_t which, const struct itimerval *new, struct itimerval *old), (which, new, old),
        OUT(old))
WRAPPER(int, setstate_r, (char *statebuf, struct random_data *buf), (statebuf, buf), OUT(buf);
        if (buf->state) writes(buf->state - 1, 4))
WRAPPER(int, srandom_r, (unsigned int seed, struct random_data *buf), (seed, buf), OUT(buf);
        if (tracked(buf)) writes(buf->state, 256))
WRAPPER(size_t, strftime_l, (char *s, size_t maxsize, const char *format, const struct tm *tp, locale_t loc),
        (s, maxsize, format, tp, loc), writes(s, maxsize))
WRAPPER(char *, strptime_l, (const char *s, const char *fmt, struct tm *tp, locale_t loc), (s, fmt, tp, loc), OUT(tp))
WRAPPER(time_t, timelocal, (struct tm * tp), (tp), OUT(tp))
WRAPPER(int, timer_create, (clockid_t clock_id, struct sigevent *evp, timer_t *timerid), (clock_id, evp, timerid),
        OUT(evp);
        OUT(timerid))
WRAPPER(int, timer_gettime, (timer_t timerid, struct itimerspec *value), (timerid, value), OUT(value))
WRAPPER(int, timer_settime, (timer_t timerid, int flags, const struct itimerspec *value, struct itimerspec *ovalue),
        (timerid, flags, value, ovalue), OUT(ovalue))
WRAPPER(int, timerfd_gettime, (int ufd, struct itimerspec *otmr), (ufd, otmr), OUT(otmr))
WRAPPER(int, timerfd_settime, (int ufd, int flags, const struct itimerspec *utmr, struct itimerspec *otmr),
        (ufd, flags, utmr, otmr), OUT(otmr))
WRAPPER(int, timespec_getres, (struct timespec * ts, int base), (ts, base), OUT(ts))
WRAPPER(int, getdate_r, (const char *text, struct tm *parts), (text, parts), OUT(parts))
