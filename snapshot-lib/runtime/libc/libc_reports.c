/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions of abi.def that report to a log or stderr: they write to memory only the counts of %n in their format. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <argp.h>
#include <err.h>
#include <error.h>
#include <stdio.h>
#include <syslog.h>

#include "libc_printf.h"
#include "libc_wrap.h"

WRAPPER_VOID(vsyslog, (int priority, const char *format, va_list list), (priority, format, list),
             announce_counts(format, list))
FORWARD_VOID(syslog, WRAP(vsyslog)(priority, format, list), int priority, const char *format)

void WRAP_CHECKED(vsyslog)(int priority, int flag, const char *format, va_list list);
void WRAP_CHECKED(vsyslog)(int priority, int flag, const char *format, va_list list) {
    (void)flag;
    WRAP(vsyslog)(priority, format, list);
}
FORWARD_VOID(__syslog_chk, WRAP_CHECKED(vsyslog)(priority, flag, format, list), int priority, int flag,
             const char *format)

/* The format of these functions may be NULL. */
static void announce_optional(const char *format, va_list list) {
    if (format)
        announce_counts(format, list);
}

#define WARNS(name)                                                                                                    \
    WRAPPER_VOID(v##name, (const char *format, va_list list), (format, list), announce_optional(format, list))         \
    FORWARD_VOID(name, WRAP(v##name)(format, list), const char *format)
#define EXITS(name)                                                                                                    \
    WRAPPER_VOID(v##name, (int status, const char *format, va_list list), (status, format, list),                      \
                 announce_optional(format, list))                                                                      \
    FORWARD_VOID(name, WRAP(v##name)(status, format, list), int status, const char *format)
WARNS(warn)
WARNS(warnx)
EXITS(err)
EXITS(errx)

/* libc has no variant of the following functions with a va_list: they receive the printed text. */
static char *printed(const char *format, va_list list) {
    char *text;
    announce_counts(format, list);
    if (vasprintf(&text, format, list) < 0)
        abort();
    return text;
}

#define REPORT(call)                                                                                                   \
    char *text = printed(format, list);                                                                                \
    call;                                                                                                              \
    free(text)

static void report_error(int status, int number, const char *format, va_list list) {
    REPORT(error(status, number, "%s", text));
}
FORWARD_VOID(error, report_error(status, number, format, list), int status, int number, const char *format)

static void report_line(int status, int number, const char *file, unsigned line, const char *format, va_list list) {
    REPORT(error_at_line(status, number, file, line, "%s", text));
}
FORWARD_VOID(error_at_line, report_line(status, number, file, line, format, list), int status, int number,
             const char *file, unsigned line, const char *format)

static void report_usage(const struct argp_state *state, const char *format, va_list list) {
    REPORT(argp_error(state, "%s", text));
}
FORWARD_VOID(argp_error, report_usage(state, format, list), const struct argp_state *state, const char *format)

static void report_failure(const struct argp_state *state, int status, int number, const char *format, va_list list) {
    REPORT(argp_failure(state, status, number, "%s", text));
}
FORWARD_VOID(argp_failure, report_failure(state, status, number, format, list), const struct argp_state *state,
             int status, int number, const char *format)
