/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings and numbers: wide and multibyte strings, tokens, conversions that return their end. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <arpa/inet.h>
#include <getopt.h>
#include <iconv.h>
#include <libgen.h>
#include <printf.h>
#include <regex.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <uchar.h>
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

/* The call overwrites the character behind a token. */
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

WRAPPER(char *, __xpg_basename, (char *path), (path), if (tracked(path)) writes(path, strlen(path) + 1))
WRAPPER(size_t, c16rtomb, (char *s, char16_t c16, mbstate_t *ps), (s, c16, ps), writes(s, 16); OUT(ps))
WRAPPER(size_t, c32rtomb, (char *s, char32_t c32, mbstate_t *ps), (s, c32, ps), writes(s, 16); OUT(ps))
WRAPPER(size_t, c8rtomb, (char *s, char8_t c8, mbstate_t *ps), (s, c8, ps), writes(s, 16); OUT(ps))
WRAPPER(size_t, confstr, (int name, char *buf, size_t len), (name, buf, len), writes(buf, len))
WRAPPER(char *, dirname, (char *path), (path), if (tracked(path)) writes(path, strlen(path) + 1))
WRAPPER(int, ecvt_r, (double value, int ndigit, int *decpt, int *sign, char *buf, size_t len),
        (value, ndigit, decpt, sign, buf, len), OUT(decpt);
        OUT(sign); writes(buf, len))
WRAPPER(int, fcvt_r, (double value, int ndigit, int *decpt, int *sign, char *buf, size_t len),
        (value, ndigit, decpt, sign, buf, len), OUT(decpt);
        OUT(sign); writes(buf, len))
WRAPPER(char *, gcvt, (double value, int ndigit, char *buf), (value, ndigit, buf), writes(buf, 64))
/* getopt() permutes the arguments. An option without a letter stores its value through its pointer. */
static void announce_options(int count, char *const *arguments, const struct option *options, const int *index) {
    writes(arguments, count > 0 ? (size_t)count * sizeof(*arguments) : 0);
    OUT(index);
    for (; options && options->name; options++)
        OUT(options->flag);
}

WRAPPER(int, getopt, (int count, char *const *arguments, const char *letters), (count, arguments, letters),
        announce_options(count, arguments, NULL, NULL))
#define LONG_OPTIONS(name)                                                                                             \
    WRAPPER(int, name,                                                                                                 \
            (int count, char *const *arguments, const char *letters, const struct option *options, int *index),        \
            (count, arguments, letters, options, index), announce_options(count, arguments, options, index))
LONG_OPTIONS(getopt_long)
LONG_OPTIONS(getopt_long_only)
WRAPPER(int, getsubopt, (char **optionp, char *const *tokens, char **valuep), (optionp, tokens, valuep),
        if (tracked(*optionp)) writes(*optionp, strlen(*optionp));
        OUT(optionp); OUT(valuep))
WRAPPER(int, hcreate_r, (size_t nel, struct hsearch_data *htab), (nel, htab), OUT(htab))
WRAPPER_VOID(hdestroy_r, (struct hsearch_data * htab), (htab), OUT(htab))
WRAPPER(int, hsearch_r, (ENTRY item, ACTION action, ENTRY **retval, struct hsearch_data *htab),
        (item, action, retval, htab), OUT(retval);
        OUT(htab))
WRAPPER(size_t, mbrlen, (const char *s, size_t n, mbstate_t *ps), (s, n, ps), OUT(ps))
WRAPPER(size_t, mbrtoc16, (char16_t *pc16, const char *s, size_t n, mbstate_t *p), (pc16, s, n, p), OUT(pc16); OUT(p))
WRAPPER(size_t, mbrtoc32, (char32_t *pc32, const char *s, size_t n, mbstate_t *p), (pc32, s, n, p), OUT(pc32); OUT(p))
WRAPPER(size_t, mbrtoc8, (char8_t *pc8, const char *s, size_t n, mbstate_t *p), (pc8, s, n, p), OUT(pc8); OUT(p))
WRAPPER(size_t, mbsnrtowcs, (wchar_t * dst, const char **src, size_t nmc, size_t len, mbstate_t *ps),
        (dst, src, nmc, len, ps), writes(dst, len *WIDE);
        OUT(src); OUT(ps))
WRAPPER(size_t, parse_printf_format, (const char *fmt, size_t n, int *argtypes), (fmt, n, argtypes),
        writes(argtypes, n * sizeof(int)))
WRAPPER(int, printf_size_info, (const struct printf_info *info, size_t n, int *argtypes), (info, n, argtypes),
        writes(argtypes, n * sizeof(int)))
WRAPPER(int, qecvt_r, (long double value, int ndigit, int *decpt, int *sign, char *buf, size_t len),
        (value, ndigit, decpt, sign, buf, len), OUT(decpt);
        OUT(sign); writes(buf, len))
WRAPPER(int, qfcvt_r, (long double value, int ndigit, int *decpt, int *sign, char *buf, size_t len),
        (value, ndigit, decpt, sign, buf, len), OUT(decpt);
        OUT(sign); writes(buf, len))
WRAPPER(char *, qgcvt, (long double value, int ndigit, char *buf), (value, ndigit, buf), writes(buf, 64))
WRAPPER(int, regcomp, (regex_t * preg, const char *pattern, int cflags), (preg, pattern, cflags), OUT(preg))
WRAPPER(size_t, regerror, (int errcode, const regex_t *preg, char *errbuf, size_t errbuf_size),
        (errcode, preg, errbuf, errbuf_size), writes(errbuf, errbuf_size))
WRAPPER(int, regexec, (const regex_t *preg, const char *String, size_t nmatch, regmatch_t *pmatch, int eflags),
        (preg, String, nmatch, pmatch, eflags), writes(pmatch, nmatch * sizeof(*pmatch)))
WRAPPER_VOID(regfree, (regex_t * preg), (preg), OUT(preg))
WRAPPER(size_t, strxfrm_l, (char *dest, const char *src, size_t n, locale_t l), (dest, src, n, l), writes(dest, n))
WRAPPER(size_t, wcsftime, (wchar_t * s, size_t maxsize, const wchar_t *format, const struct tm *tp),
        (s, maxsize, format, tp), writes(s, maxsize *WIDE))
WRAPPER(size_t, wcsftime_l, (wchar_t * s, size_t maxsize, const wchar_t *format, const struct tm *tp, locale_t loc),
        (s, maxsize, format, tp, loc), writes(s, maxsize *WIDE))
WRAPPER(size_t, wcsnrtombs, (char *dst, const wchar_t **src, size_t nwc, size_t len, mbstate_t *ps),
        (dst, src, nwc, len, ps), writes(dst, len);
        OUT(src); OUT(ps))
WRAPPER(size_t, wcsxfrm_l, (wchar_t * s1, const wchar_t *s2, size_t n, locale_t loc), (s1, s2, n, loc),
        writes(s1, n *WIDE))

/* Other names that headers use in inline functions, and the checked forms. `room` counts wide characters if the
 * target consists of them. */
void *WRAP(__mempcpy)(void *to, const void *from, size_t n);
void *WRAP(__mempcpy)(void *to, const void *from, size_t n) {
    writes(to, n);
    return mempcpy(to, from, n);
}
char *WRAP(__stpcpy)(char *to, const char *from);
char *WRAP(__stpcpy)(char *to, const char *from) {
    if (tracked(to))
        writes(to, strlen(from) + 1);
    return stpcpy(to, from);
}
char *WRAP(__stpncpy)(char *to, const char *from, size_t n);
char *WRAP(__stpncpy)(char *to, const char *from, size_t n) {
    writes(to, n);
    return stpncpy(to, from, n);
}
char *WRAP(__strtok_r)(char *text, const char *delimiters, char **rest);
char *WRAP(__strtok_r)(char *text, const char *delimiters, char **rest) {
    return WRAP(strtok_r)(text, delimiters, rest);
}
size_t WRAP(__mbrlen)(const char *text, size_t n, mbstate_t *state);
size_t WRAP(__mbrlen)(const char *text, size_t n, mbstate_t *state) { return WRAP(mbrlen)(text, n, state); }

WRAPPER_CHECKED(size_t, confstr, (int name, char *to, size_t n, size_t room), (name, to, n), n)
WRAPPER_CHECKED(size_t, mbstowcs, (wchar_t * to, const char *from, size_t n, size_t room), (to, from, n), n)
WRAPPER_CHECKED(size_t, mbsrtowcs, (wchar_t * to, const char **from, size_t n, mbstate_t *state, size_t room),
                (to, from, n, state), n)
WRAPPER_CHECKED(size_t, mbsnrtowcs,
                (wchar_t * to, const char **from, size_t most, size_t n, mbstate_t *state, size_t room),
                (to, from, most, n, state), n)
WRAPPER_CHECKED(size_t, wcstombs, (char *to, const wchar_t *from, size_t n, size_t room), (to, from, n), n)
WRAPPER_CHECKED(size_t, wcsrtombs, (char *to, const wchar_t **from, size_t n, mbstate_t *state, size_t room),
                (to, from, n, state), n)
WRAPPER_CHECKED(size_t, wcsnrtombs,
                (char *to, const wchar_t **from, size_t most, size_t n, mbstate_t *state, size_t room),
                (to, from, most, n, state), n)
WRAPPER_CHECKED(size_t, wcrtomb, (char *to, wchar_t c, mbstate_t *state, size_t room), (to, c, state), MB_CUR_MAX)
WRAPPER_CHECKED(int, wctomb, (char *to, wchar_t c, size_t room), (to, c), MB_CUR_MAX)
WRAPPER_CHECKED(wchar_t *, wcsncat, (wchar_t * to, const wchar_t *from, size_t n, size_t room), (to, from, n),
                wcslen(to) + wcsnlen(from, n) + 1)
