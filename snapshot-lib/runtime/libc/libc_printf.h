/* SPDX-License-Identifier: BSD-3-Clause */
/* Counts of %n: each is an int, or of another size by its length modifier, written through a pointer argument. */
#ifndef SNAPSHOT_LIBC_PRINTF_H
#define SNAPSHOT_LIBC_PRINTF_H

#include <stdarg.h>
#include <wchar.h>

/* Announce the integers that %n of `format` writes. `arguments` can still be used afterwards. */
void announce_counts(const char *format, va_list arguments);
void announce_wide_counts(const wchar_t *format, va_list arguments);

/* Defines a function of `type` with an ellipsis after `format`, by means of `call`, which uses the va_list `list`. */
#define FORWARD_TYPE(type, result, name, call, ...)                                                                    \
    type WRAP(name)(__VA_ARGS__, ...);                                                                                 \
    type WRAP(name)(__VA_ARGS__, ...) {                                                                                \
        va_list list;                                                                                                  \
        va_start(list, format);                                                                                        \
        result call;                                                                                                   \
        va_end(list);                                                                                                  \
        RETURN_##type                                                                                                  \
    }
#define RETURN_int return length;
#define RETURN_void
#define FORWARD(name, call, ...) FORWARD_TYPE(int, int length =, name, call, __VA_ARGS__)
#define FORWARD_VOID(name, call, ...) FORWARD_TYPE(void, , name, call, __VA_ARGS__)

#endif
