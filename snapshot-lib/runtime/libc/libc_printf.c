/* SPDX-License-Identifier: BSD-3-Clause */
/* The printf family of abi.def. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <printf.h>
#include <stdbool.h>
#include <stdio.h>

#include "bounce.h"
#include "libc_printf.h"

#define ARGUMENTS_MAX 64

static bool counts_characters(const char *format) {
    for (const char *at = strchr(format, '%'); at; at = strchr(at + strspn(at, "%"), '%')) {
        const char *conversion = at + 1 + strspn(at + 1, "0123456789$#- +'I.*hlLqjzt");
        if (*conversion == 'n')
            return true;
        at = *conversion == '%' ? conversion : at;
    }
    return false;
}

static size_t count_bytes(int type) {
    return type & (PA_FLAG_LONG | PA_FLAG_LONG_LONG) ? 8 : type & PA_FLAG_SHORT ? 2 : sizeof(int);
}

/* Announce one argument; for %n it is a pointer to an integer. */
static void announce_argument(int type, va_list *arguments) {
    int kind = type & ~PA_FLAG_MASK;
    if (type & PA_FLAG_PTR)
        writes(va_arg(*arguments, void *), count_bytes(type));
    else if (kind == PA_STRING || kind == PA_WSTRING || kind == PA_POINTER)
        (void)va_arg(*arguments, void *);
    else if (kind == PA_FLOAT || kind == PA_DOUBLE)
        (void)(type & PA_FLAG_LONG_DOUBLE ? (double)va_arg(*arguments, long double) : va_arg(*arguments, double));
    else if (type & (PA_FLAG_LONG | PA_FLAG_LONG_LONG))
        (void)va_arg(*arguments, long);
    else
        (void)va_arg(*arguments, int);
}

void announce_counts(const char *format, va_list arguments) {
    if (!counts_characters(format))
        return;
    int types[ARGUMENTS_MAX];
    size_t count = parse_printf_format(format, ARGUMENTS_MAX, types);
    if (count > ARGUMENTS_MAX)
        abort(); /* more than POSIX has to support */
    va_list copy;
    va_copy(copy, arguments);
    for (size_t i = 0; i < count; i++)
        announce_argument(types[i], &copy);
    va_end(copy);
}

/* Conversions consist of ASCII characters, and the text between them does not matter. */
void announce_wide_counts(const wchar_t *format, va_list arguments) {
    size_t length = wcslen(format);
    char small[256], *narrow = length < sizeof(small) ? small : aside_map(length + 1);
    if (!narrow)
        abort();
    for (size_t i = 0; i <= length; i++)
        narrow[i] = format[i] < 128 ? (char)format[i] : '?';
    announce_counts(narrow, arguments);
    if (narrow != small)
        aside_unmap(narrow, length + 1);
}

/* Print to private memory first: the length is not known in advance, and a handler of the program may commit. */
static int print_aside(char *to, size_t n, const char *format, va_list arguments) {
    char small[512], *text = small;
    va_list copy;
    va_copy(copy, arguments);
    int length = vsnprintf(small, sizeof(small), format, copy);
    va_end(copy);
    size_t bytes = length < 0 ? 0 : (size_t)length < n ? (size_t)length + 1 : n;
    if (bytes > sizeof(small)) {
        text = aside_map(bytes);
        if (!text)
            abort();
        vsnprintf(text, bytes, format, arguments);
    }
    if (bytes > 0) {
        text[bytes - 1] = '\0';
        store_tracked(to, text, bytes);
    }
    if (text != small)
        aside_unmap(text, bytes);
    return length;
}

int WRAP(vsnprintf)(char *to, size_t n, const char *format, va_list arguments);
int WRAP(vsprintf)(char *to, const char *format, va_list arguments);
int WRAP(__vsnprintf_chk)(char *to, size_t n, int flag, size_t room, const char *format, va_list arguments);
int WRAP(__vsprintf_chk)(char *to, int flag, size_t room, const char *format, va_list arguments);

int WRAP(vsnprintf)(char *to, size_t n, const char *format, va_list arguments) {
    announce_counts(format, arguments);
    return tracked(to) ? print_aside(to, n, format, arguments) : vsnprintf(to, n, format, arguments);
}

int WRAP(vsprintf)(char *to, const char *format, va_list arguments) {
    announce_counts(format, arguments);
    return tracked(to) ? print_aside(to, SIZE_MAX, format, arguments) : vsprintf(to, format, arguments);
}

int WRAP(__vsnprintf_chk)(char *to, size_t n, int flag, size_t room, const char *format, va_list arguments) {
    (void)flag;
    if (n > room)
        abort();
    return WRAP(vsnprintf)(to, n, format, arguments);
}

int WRAP(__vsprintf_chk)(char *to, int flag, size_t room, const char *format, va_list arguments) {
    (void)flag;
    int length = WRAP(vsnprintf)(to, room, format, arguments);
    if (length >= 0 && (size_t)length >= room)
        abort();
    return length;
}

/* These functions write only the counts of %n, and vasprintf() the pointer to a new string. */
#define PRINTER(name, parameters, arguments) WRAPPER(int, name, parameters, arguments, announce_counts(format, list))
#define PARAMETERS(...) (__VA_ARGS__, const char *format, va_list list)
PRINTER(vprintf, (const char *format, va_list list), (format, list))
PRINTER(vfprintf, PARAMETERS(FILE *stream), (stream, format, list))
PRINTER(vdprintf, PARAMETERS(int fd), (fd, format, list))
WRAPPER(int, vasprintf, (char **to, const char *format, va_list list), (to, format, list), OUT(to);
        announce_counts(format, list))

/* The functions with an ellipsis, and the checked functions. The flag of the latter is not passed on. */
#define FORWARD_CHECKED(name, call, v_call, ...)                                                                       \
    int WRAP_CHECKED(v##name)(__VA_ARGS__, int flag, const char *format, va_list list);                                \
    int WRAP_CHECKED(v##name)(__VA_ARGS__, int flag, const char *format, va_list list) {                               \
        (void)flag;                                                                                                    \
        return call;                                                                                                   \
    }                                                                                                                  \
    FORWARD(__##name##_chk, WRAP_CHECKED(v##name) v_call, __VA_ARGS__, int flag, const char *format)

FORWARD(snprintf, WRAP(vsnprintf)(to, n, format, list), char *to, size_t n, const char *format)
FORWARD(sprintf, WRAP(vsprintf)(to, format, list), char *to, const char *format)
FORWARD(__snprintf_chk, WRAP(__vsnprintf_chk)(to, n, flag, room, format, list), char *to, size_t n, int flag,
        size_t room, const char *format)
FORWARD(__sprintf_chk, WRAP(__vsprintf_chk)(to, flag, room, format, list), char *to, int flag, size_t room,
        const char *format)
FORWARD(printf, WRAP(vprintf)(format, list), const char *format)
FORWARD(fprintf, WRAP(vfprintf)(stream, format, list), FILE *stream, const char *format)
FORWARD(dprintf, WRAP(vdprintf)(fd, format, list), int fd, const char *format)
FORWARD(asprintf, WRAP(vasprintf)(to, format, list), char **to, const char *format)
FORWARD_CHECKED(fprintf, WRAP(vfprintf)(stream, format, list), (stream, flag, format, list), FILE *stream)
FORWARD_CHECKED(dprintf, WRAP(vdprintf)(fd, format, list), (fd, flag, format, list), int fd)
FORWARD_CHECKED(asprintf, WRAP(vasprintf)(to, format, list), (to, flag, format, list), char **to)

int WRAP_CHECKED(vprintf)(int flag, const char *format, va_list list);
int WRAP_CHECKED(vprintf)(int flag, const char *format, va_list list) {
    (void)flag;
    return WRAP(vprintf)(format, list);
}
FORWARD(__printf_chk, WRAP_CHECKED(vprintf)(flag, format, list), int flag, const char *format)

WRAPPER(int, vswprintf, (wchar_t * to, size_t n, const wchar_t *format, va_list list), (to, n, format, list),
        announce_wide_counts(format, list);
        ASIDE_BYTES(to, n * sizeof(wchar_t)))
#define WIDE_FORMAT const wchar_t *format
FORWARD(swprintf, WRAP(vswprintf)(to, n, format, list), wchar_t *to, size_t n, WIDE_FORMAT)

/* The names that _FORTIFY_SOURCE and older headers use. */
int WRAP_CHECKED(vswprintf)(wchar_t *to, size_t n, int flag, size_t room, const wchar_t *format, va_list list);
int WRAP_CHECKED(vswprintf)(wchar_t *to, size_t n, int flag, size_t room, const wchar_t *format, va_list list) {
    (void)flag;
    room_check(n, room);
    return WRAP(vswprintf)(to, n, format, list);
}
FORWARD(__swprintf_chk, WRAP_CHECKED(vswprintf)(to, n, flag, room, format, list), wchar_t *to, size_t n, int flag,
        size_t room, WIDE_FORMAT)
FORWARD(__asprintf, WRAP(vasprintf)(to, format, list), char **to, const char *format)

#define WIDE_PRINTER(name, parameters, arguments)                                                                      \
    WRAPPER(int, name, parameters, arguments, announce_wide_counts(format, list))
WIDE_PRINTER(vwprintf, (WIDE_FORMAT, va_list list), (format, list))
WIDE_PRINTER(vfwprintf, (FILE * stream, WIDE_FORMAT, va_list list), (stream, format, list))
FORWARD(wprintf, WRAP(vwprintf)(format, list), WIDE_FORMAT)
FORWARD(fwprintf, WRAP(vfwprintf)(stream, format, list), FILE *stream, WIDE_FORMAT)

int WRAP_CHECKED(vwprintf)(int flag, WIDE_FORMAT, va_list list);
int WRAP_CHECKED(vwprintf)(int flag, WIDE_FORMAT, va_list list) {
    (void)flag;
    return WRAP(vwprintf)(format, list);
}
int WRAP_CHECKED(vfwprintf)(FILE *stream, int flag, WIDE_FORMAT, va_list list);
int WRAP_CHECKED(vfwprintf)(FILE *stream, int flag, WIDE_FORMAT, va_list list) {
    (void)flag;
    return WRAP(vfwprintf)(stream, format, list);
}
FORWARD(__wprintf_chk, WRAP_CHECKED(vwprintf)(flag, format, list), int flag, WIDE_FORMAT)
FORWARD(__fwprintf_chk, WRAP_CHECKED(vfwprintf)(stream, flag, format, list), FILE *stream, int flag, WIDE_FORMAT)
