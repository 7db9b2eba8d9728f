/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings and numbers: wide and multibyte strings, tokens, conversions that return where they stopped. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <iconv.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "libc_wrap.h"

int __xpg_strerror_r(int error, char *to, size_t n); /* the strerror_r of POSIX; the other is GNU's */

#define WIDE sizeof(wchar_t)

#define WIDE_BLOCK(name)                                                                                               \
    WRAPPER(wchar_t *, name, (wchar_t * to, const wchar_t *from, size_t n), (to, from, n), writes(to, n *WIDE))        \
    WRAPPER_CHECKED(wchar_t *, name, (wchar_t * to, const wchar_t *from, size_t n, size_t room), (to, from, n), n)
WIDE_BLOCK(wmemcpy)
WIDE_BLOCK(wmemmove)
WIDE_BLOCK(wmempcpy)
WIDE_BLOCK(wcsncpy)
WIDE_BLOCK(wcpncpy)
WRAPPER(wchar_t *, wmemset, (wchar_t * to, wchar_t c, size_t n), (to, c, n), writes(to, n *WIDE))
WRAPPER_CHECKED(wchar_t *, wmemset, (wchar_t * to, wchar_t c, size_t n, size_t room), (to, c, n), n)

#define WIDE_STRING(name, prefix_length)                                                                               \
    WRAPPER(wchar_t *, name, (wchar_t * to, const wchar_t *from), (to, from),                                          \
            if (tracked(to)) writes(to + (prefix_length), (wcslen(from) + 1) * WIDE))                                  \
    WRAPPER_CHECKED(wchar_t *, name, (wchar_t * to, const wchar_t *from, size_t room), (to, from),                     \
                    (prefix_length) + wcslen(from) + 1)
WIDE_STRING(wcscpy, 0)
WIDE_STRING(wcpcpy, 0)
WIDE_STRING(wcscat, wcslen(to))
WRAPPER(wchar_t *, wcsncat, (wchar_t * to, const wchar_t *from, size_t n), (to, from, n),
        if (tracked(to)) writes(to + wcslen(to), (wcsnlen(from, n) + 1) * WIDE))

WRAPPER(size_t, mbstowcs, (wchar_t * to, const char *from, size_t n), (to, from, n), writes(to, n *WIDE))
WRAPPER(size_t, wcstombs, (char *to, const wchar_t *from, size_t n), (to, from, n), writes(to, n))
WRAPPER(size_t, mbrtowc, (wchar_t * to, const char *from, size_t n, mbstate_t *state), (to, from, n, state), OUT(to);
        OUT(state))
WRAPPER(size_t, wcrtomb, (char *to, wchar_t c, mbstate_t *state), (to, c, state), writes(to, 16); OUT(state))
WRAPPER(int, mbtowc, (wchar_t * to, const char *from, size_t n), (to, from, n), OUT(to))
WRAPPER(int, wctomb, (char *to, wchar_t c), (to, c), writes(to, 16))
WRAPPER(size_t, mbsrtowcs, (wchar_t * to, const char **from, size_t n, mbstate_t *state), (to, from, n, state),
        writes(to, n *WIDE);
        OUT(from); OUT(state))
WRAPPER(size_t, wcsrtombs, (char *to, const wchar_t **from, size_t n, mbstate_t *state), (to, from, n, state),
        writes(to, n);
        OUT(from); OUT(state))
WRAPPER(size_t, strxfrm, (char *to, const char *from, size_t n), (to, from, n), writes(to, n))
WRAPPER(size_t, wcsxfrm, (wchar_t * to, const wchar_t *from, size_t n), (to, from, n), writes(to, n *WIDE))
WRAPPER(size_t, iconv, (iconv_t how, char **from, size_t *from_left, char **to, size_t *to_left),
        (how, from, from_left, to, to_left), OUT(from);
        OUT(from_left); OUT(to); OUT(to_left); if (to && to_left) writes(*to, *to_left))

WRAPPER_VOID(swab, (const void *from, void *to, ssize_t n), (from, to, n), writes(to, n > 0 ? (size_t)n : 0))
WRAPPER(void *, memfrob, (void *to, size_t n), (to, n), writes(to, n))
WRAPPER(char *, strfry, (char *to), (to), if (tracked(to)) writes(to, strlen(to)))
WRAPPER(char *, strerror_r, (int error, char *to, size_t n), (error, to, n), writes(to, n))
WRAPPER(int, __xpg_strerror_r, (int error, char *to, size_t n), (error, to, n), writes(to, n))

/* A token ends where a character is overwritten. */
static void announce_token(char *begin, const char *delimiters) {
    if (begin && tracked(begin)) {
        begin += strspn(begin, delimiters);
        writes(begin + strcspn(begin, delimiters), 1);
    }
}

char *WRAP(strtok_r)(char *text, const char *delimiters, char **rest);
char *WRAP(strtok_r)(char *text, const char *delimiters, char **rest) {
    announce_token(text ? text : *rest, delimiters);
    OUT(rest);
    return strtok_r(text, delimiters, rest);
}

char *WRAP(strtok)(char *text, const char *delimiters);
char *WRAP(strtok)(char *text, const char *delimiters) {
    static char *rest;
    return WRAP(strtok_r)(text, delimiters, &rest);
}

char *WRAP(strsep)(char **text, const char *delimiters);
char *WRAP(strsep)(char **text, const char *delimiters) {
    if (*text && tracked(*text))
        writes(*text + strcspn(*text, delimiters), 1);
    OUT(text);
    return strsep(text, delimiters);
}

/* glibc 2.38 has a second set of names for C23. */
#define TO_NUMBER(type, name, character, more_parameters, more_arguments)                                              \
    WRAPPER(type, name, (const character *text, character **end more_parameters), (text, end more_arguments), OUT(end))
#define TO_INTEGER(type, name, character)                                                                              \
    TO_NUMBER(type, name, character, COMMA int base, COMMA base)                                                       \
    type WRAP(__isoc23_##name)(const character *text, character **end, int base);                                      \
    type WRAP(__isoc23_##name)(const character *text, character **end, int base) { return WRAP(name)(text, end, base); }
#define COMMA ,
TO_INTEGER(long, strtol, char)
TO_INTEGER(unsigned long, strtoul, char)
TO_INTEGER(long long, strtoll, char)
TO_INTEGER(unsigned long long, strtoull, char)
TO_NUMBER(float, strtof, char, , )
TO_NUMBER(double, strtod, char, , )
TO_NUMBER(long double, strtold, char, , )
TO_INTEGER(long, wcstol, wchar_t)
TO_INTEGER(unsigned long, wcstoul, wchar_t)
TO_NUMBER(double, wcstod, wchar_t, , )

/* <search.h>: linked lists. */
WRAPPER_VOID(insque, (void *element, void *before), (element, before), writes(element, 16); writes(before, 16);
             if (before) writes(*(void **)before, 16))
WRAPPER_VOID(remque, (void *element), (element), writes(((void **)element)[0], 16); writes(((void **)element)[1], 16))
