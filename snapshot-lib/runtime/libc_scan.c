/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scanf family of abi.def: the format says what each pointer is for. A string without a width may be as long as
 * the input; of a stream nobody knows how long that is, so everything up to the end of the mapping is announced.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <wchar.h>

#include "libc_wrap.h"

#define ARGUMENTS_MAX 64

struct conversion {
    unsigned argument; /* 1, 2, ... of %2$d; 0: the next one */
    bool assigns;
    size_t bytes;
};

static size_t number(const char **at) {
    size_t value = 0;
    while (isdigit((unsigned char)**at))
        value = value * 10 + (size_t)(*(*at)++ - '0');
    return value;
}

static size_t integer_bytes(const char *length) {
    if (length[0] == 'h')
        return length[1] == 'h' ? 1 : 2;
    return strchr("lLqjzt", length[0]) && length[0] ? 8 : 4;
}

static size_t float_bytes(const char *length) { return length[0] == 'L' ? 16 : length[0] == 'l' ? 8 : 4; }

/* After '[': a ']' that comes first is one of the characters. */
static const char *set_end(const char *at) {
    at += *at == '^';
    at += *at == ']';
    while (*at && *at != ']')
        at++;
    return *at ? at + 1 : at;
}

static size_t text_bytes(char kind, const char *length, size_t width, size_t unbounded) {
    size_t unit = length[0] == 'l' || kind == 'S' || kind == 'C' ? sizeof(wchar_t) : 1;
    if (kind == 'c' || kind == 'C')
        return (width ? width : 1) * unit;
    if (!width && unbounded == SIZE_MAX)
        return SIZE_MAX;
    return ((width ? width : unbounded) + 1) * unit;
}

/* Behind the '%'. Returns where the conversion ends. */
static const char *parse(const char *at, size_t unbounded, struct conversion *result) {
    const char *begin = at;
    size_t value = number(&at);
    result->argument = *at == '$' ? (unsigned)value : 0;
    at = *at == '$' ? at + 1 : begin;
    result->assigns = *at != '*';
    at += *at == '*';
    at += strspn(at, "'I");
    size_t width = number(&at);
    bool allocates = *at == 'm';
    at += allocates;
    const char *length = at;
    at += strspn(at, "hlLqjzt");
    char kind = *at;
    at += kind != '\0';
    if (kind == '[')
        at = set_end(at);
    if (kind == '%' || kind == '\0')
        result->assigns = false;
    else if (strchr("cCsS[", kind))
        result->bytes = allocates ? sizeof(void *) : text_bytes(kind, length, width, unbounded);
    else if (strchr("aAeEfFgG", kind))
        result->bytes = float_bytes(length);
    else
        result->bytes = kind == 'p' ? sizeof(void *) : integer_bytes(length);
    return at;
}

static void announce(const char *format, va_list list, size_t unbounded) {
    void *arguments[ARGUMENTS_MAX + 1];
    unsigned known = 0, next = 0;
    va_list copy;
    va_copy(copy, list);
    for (const char *at = strchr(format, '%'); at; at = strchr(at, '%')) {
        struct conversion conversion;
        at = parse(at + 1, unbounded, &conversion);
        if (!conversion.assigns)
            continue;
        unsigned index = conversion.argument ? conversion.argument : ++next;
        if (index > ARGUMENTS_MAX)
            abort(); /* more than POSIX has to support */
        while (known < index)
            arguments[++known] = va_arg(copy, void *);
        writes(arguments[index], conversion.bytes);
    }
    va_end(copy);
}

#define STREAM_FAMILY(prefix)                                                                                          \
    int WRAP(prefix##vsscanf)(const char *text, const char *format, va_list list);                                     \
    int WRAP(prefix##vsscanf)(const char *text, const char *format, va_list list) {                                    \
        announce(format, list, strlen(text));                                                                          \
        return vsscanf(text, format, list);                                                                            \
    }                                                                                                                  \
    int WRAP(prefix##vfscanf)(FILE * stream, const char *format, va_list list);                                        \
    int WRAP(prefix##vfscanf)(FILE * stream, const char *format, va_list list) {                                       \
        announce(format, list, SIZE_MAX);                                                                              \
        return vfscanf(stream, format, list);                                                                          \
    }                                                                                                                  \
    int WRAP(prefix##vscanf)(const char *format, va_list list);                                                        \
    int WRAP(prefix##vscanf)(const char *format, va_list list) { return WRAP(prefix##vfscanf)(stdin, format, list); }  \
    int WRAP(prefix##sscanf)(const char *text, const char *format, ...);                                               \
    int WRAP(prefix##sscanf)(const char *text, const char *format, ...) {                                              \
        FORWARD(WRAP(prefix##vsscanf)(text, format, list));                                                            \
    }                                                                                                                  \
    int WRAP(prefix##fscanf)(FILE * stream, const char *format, ...);                                                  \
    int WRAP(prefix##fscanf)(FILE * stream, const char *format, ...) {                                                 \
        FORWARD(WRAP(prefix##vfscanf)(stream, format, list));                                                          \
    }                                                                                                                  \
    int WRAP(prefix##scanf)(const char *format, ...);                                                                  \
    int WRAP(prefix##scanf)(const char *format, ...) { FORWARD(WRAP(prefix##vfscanf)(stdin, format, list)); }

#define FORWARD(call)                                                                                                  \
    va_list list;                                                                                                      \
    va_start(list, format);                                                                                            \
    int count = call;                                                                                                  \
    va_end(list);                                                                                                      \
    return count

STREAM_FAMILY()
STREAM_FAMILY(__isoc99_)
STREAM_FAMILY(__isoc23_)
