/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scanf family of abi.def: the format determines the size of each pointer's target. A stream waits for its input,
 * so its data goes to private memory first (bounce.h). A string without a width may be as long as the input. For a text
 * this length is known; for a stream, %s becomes %ms, and libc allocates the memory.
 */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <wchar.h>

#include "bounce.h"

#define ARGUMENTS_MAX 64

struct conversion {
    unsigned argument; /* 1, 2, ... of %2$d; 0: the next one */
    bool assigns;
    bool is_wide;
    const char *length; /* the place for an 'm' */
    size_t bytes;       /* SIZE_MAX: unknown */
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

/* Skips a set that begins after '['. A ']' that comes first is one of its characters. */
static const char *set_end(const char *at) {
    at += *at == '^';
    at += *at == ']';
    while (*at && *at != ']')
        at++;
    return *at ? at + 1 : at;
}

static size_t text_bytes(char kind, bool is_wide, size_t width, size_t unbounded) {
    size_t unit = is_wide ? sizeof(wchar_t) : 1;
    if (kind == 'c' || kind == 'C')
        return (width ? width : 1) * unit;
    if (!width && unbounded == SIZE_MAX)
        return SIZE_MAX;
    return ((width ? width : unbounded) + 1) * unit;
}

/* Parses a conversion after its '%'. Returns the end of the conversion. */
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
    const char *length = result->length = at;
    at += strspn(at, "hlLqjzt");
    char kind = *at;
    result->is_wide = length[0] == 'l' || kind == 'S' || kind == 'C';
    at += kind != '\0';
    if (kind == '[')
        at = set_end(at);
    if (kind == '%' || kind == '\0')
        result->assigns = false;
    else if (strchr("cCsS[", kind))
        result->bytes = allocates ? sizeof(void *) : text_bytes(kind, result->is_wide, width, unbounded);
    else if (strchr("aAeEfFgG", kind))
        result->bytes = float_bytes(length);
    else
        result->bytes = kind == 'p' ? sizeof(void *) : integer_bytes(length);
    return at;
}

/* The arguments read so far; all are pointers. POSIX requires support for at most 64 arguments. */
struct arguments {
    void *pointers[ARGUMENTS_MAX + 1];
    unsigned known, next;
};

static unsigned argument_of(struct arguments *arguments, const struct conversion *conversion, va_list *list) {
    unsigned index = conversion->argument ? conversion->argument : ++arguments->next;
    if (index > ARGUMENTS_MAX)
        abort();
    while (arguments->known < index)
        arguments->pointers[++arguments->known] = va_arg(*list, void *);
    return index;
}

/* Announces all targets, unless `unbounded` is SIZE_MAX. Returns whether any of them is tracked. */
static bool announce(const char *format, va_list list, size_t unbounded) {
    struct arguments arguments = {.known = 0};
    bool any = false;
    va_list copy;
    va_copy(copy, list);
    for (const char *at = strchr(format, '%'); at; at = strchr(at, '%')) {
        struct conversion conversion;
        at = parse(at + 1, unbounded, &conversion);
        if (!conversion.assigns)
            continue;
        const void *pointer = arguments.pointers[argument_of(&arguments, &conversion, &copy)];
        any |= tracked(pointer);
        if (unbounded != SIZE_MAX)
            writes(pointer, conversion.bytes);
    }
    va_end(copy);
    return any;
}

/* A scan of a stream: pointers to private memory, and texts that libc allocates. */
struct scan {
    struct arguments arguments;
    unsigned count;
    struct bounce fields[ARGUMENTS_MAX];
    struct {
        void *target, *text;
        bool is_wide;
    } texts[ARGUMENTS_MAX];
    size_t mapped_bytes;
    char format[];
};

static void scan_argument(struct scan *scan, const struct conversion *conversion, unsigned index) {
    void **pointer = &scan->arguments.pointers[index];
    unsigned field = scan->count++;
    if (conversion->bytes != SIZE_MAX) {
        *pointer = bounce_of(&scan->fields[field], *pointer, conversion->bytes, true);
        return;
    }
    scan->texts[field].target = *pointer;
    scan->texts[field].is_wide = conversion->is_wide;
    *pointer = &scan->texts[field].text;
}

static struct scan *scan_begin(const char *format, va_list list) {
    size_t bytes = sizeof(struct scan) + 2 * strlen(format) + 1;
    struct scan *scan = aside_map(bytes);
    if (!scan)
        abort();
    scan->mapped_bytes = bytes;
    char *to = scan->format;
    const char *from = format, *at = strchr(format, '%');
    for (; at; at = strchr(at, '%')) {
        struct conversion conversion;
        at = parse(at + 1, SIZE_MAX, &conversion);
        if (!conversion.assigns)
            continue;
        unsigned index = argument_of(&scan->arguments, &conversion, (va_list *)list);
        if (!tracked(scan->arguments.pointers[index]))
            continue;
        scan_argument(scan, &conversion, index);
        if (conversion.bytes != SIZE_MAX)
            continue;
        to = mempcpy(to, from, (size_t)(conversion.length - from));
        *to++ = 'm';
        from = conversion.length;
    }
    strcpy(to, from);
    return scan;
}

static void scan_end(struct scan **ended) {
    struct scan *scan = *ended;
    for (unsigned i = 0; i < scan->count; i++) {
        bounce_end(&scan->fields[i]);
        void *text = scan->texts[i].text;
        if (text)
            store_tracked(scan->texts[i].target, text,
                          scan->texts[i].is_wide ? (wcslen(text) + 1) * sizeof(wchar_t) : strlen(text) + 1);
        free(text);
    }
    aside_unmap(scan, scan->mapped_bytes);
}

static int stream_scan(FILE *stream, const char *format, va_list list) {
    if (!announce(format, list, SIZE_MAX))
        return vfscanf(stream, format, list);
    va_list given;
    va_copy(given, list);
    __attribute__((cleanup(scan_end))) struct scan *scan = scan_begin(format, given);
    va_end(given);
    va_list used; /* as in the x86-64 ABI: no registers are left, all arguments lie in memory */
    used[0].gp_offset = 48;
    used[0].fp_offset = 176;
    used[0].overflow_arg_area = &scan->arguments.pointers[1];
    return vfscanf(stream, scan->format, used);
}

#define STREAM_FAMILY(prefix)                                                                                          \
    int WRAP(prefix##vsscanf)(const char *text, const char *format, va_list list);                                     \
    int WRAP(prefix##vsscanf)(const char *text, const char *format, va_list list) {                                    \
        announce(format, list, strlen(text));                                                                          \
        return vsscanf(text, format, list);                                                                            \
    }                                                                                                                  \
    int WRAP(prefix##vfscanf)(FILE * stream, const char *format, va_list list);                                        \
    int WRAP(prefix##vfscanf)(FILE * stream, const char *format, va_list list) {                                       \
        return stream_scan(stream, format, list);                                                                      \
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
