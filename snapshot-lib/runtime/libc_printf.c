/* SPDX-License-Identifier: BSD-3-Clause */
/* The printf family of abi.def. How much a call writes is found by formatting once without a target. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "snapshot/snapshot.h"

#define WRAP(name) __snapshot_libc_##name

int WRAP(vsnprintf)(char *to, size_t n, const char *format, va_list arguments);
int WRAP(vsprintf)(char *to, const char *format, va_list arguments);
int WRAP(snprintf)(char *to, size_t n, const char *format, ...);
int WRAP(sprintf)(char *to, const char *format, ...);
int WRAP(__vsnprintf_chk)(char *to, size_t n, int flag, size_t room, const char *format, va_list arguments);
int WRAP(__vsprintf_chk)(char *to, int flag, size_t room, const char *format, va_list arguments);
int WRAP(__snprintf_chk)(char *to, size_t n, int flag, size_t room, const char *format, ...);
int WRAP(__sprintf_chk)(char *to, int flag, size_t room, const char *format, ...);

static size_t formatted_bytes(const char *format, va_list arguments) {
    va_list copy;
    va_copy(copy, arguments);
    int length = vsnprintf(NULL, 0, format, copy);
    va_end(copy);
    return length < 0 ? 0 : (size_t)length + 1;
}

int WRAP(vsnprintf)(char *to, size_t n, const char *format, va_list arguments) {
    size_t bytes = formatted_bytes(format, arguments);
    snapshot_log_range(to, bytes < n ? bytes : n);
    return vsnprintf(to, n, format, arguments);
}

int WRAP(vsprintf)(char *to, const char *format, va_list arguments) {
    snapshot_log_range(to, formatted_bytes(format, arguments));
    return vsprintf(to, format, arguments);
}

int WRAP(__vsnprintf_chk)(char *to, size_t n, int flag, size_t room, const char *format, va_list arguments) {
    (void)flag;
    if (n > room)
        abort();
    return WRAP(vsnprintf)(to, n, format, arguments);
}

int WRAP(__vsprintf_chk)(char *to, int flag, size_t room, const char *format, va_list arguments) {
    (void)flag;
    if (formatted_bytes(format, arguments) > room)
        abort();
    return WRAP(vsprintf)(to, format, arguments);
}

#define FORWARD(call)                                                                                                  \
    va_list arguments;                                                                                                 \
    va_start(arguments, format);                                                                                       \
    int length = call;                                                                                                 \
    va_end(arguments);                                                                                                 \
    return length

int WRAP(snprintf)(char *to, size_t n, const char *format, ...) { FORWARD(WRAP(vsnprintf)(to, n, format, arguments)); }

int WRAP(sprintf)(char *to, const char *format, ...) { FORWARD(WRAP(vsprintf)(to, format, arguments)); }

int WRAP(__snprintf_chk)(char *to, size_t n, int flag, size_t room, const char *format, ...) {
    FORWARD(WRAP(__vsnprintf_chk)(to, n, flag, room, format, arguments));
}

int WRAP(__sprintf_chk)(char *to, int flag, size_t room, const char *format, ...) {
    FORWARD(WRAP(__vsprintf_chk)(to, flag, room, format, arguments));
}
