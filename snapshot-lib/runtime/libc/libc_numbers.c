/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversions of numbers that are not in libc_text.c: with a locale, of C23's floating types, under old names. */
#define _GNU_SOURCE
#undef _FORTIFY_SOURCE
#include <inttypes.h>
#include <stdlib.h>
#include <wchar.h>

#include "libc_wrap.h"

WRAPPER(int, strfromd, (char *dest, size_t size, const char *format, double f), (dest, size, format, f),
        writes(dest, size))
WRAPPER(int, strfromf, (char *dest, size_t size, const char *format, float f), (dest, size, format, f),
        writes(dest, size))
WRAPPER(int, strfromf32, (char *dest, size_t size, const char *format, _Float32 f), (dest, size, format, f),
        writes(dest, size))
WRAPPER(int, strfromf32x, (char *dest, size_t size, const char *format, _Float32x f), (dest, size, format, f),
        writes(dest, size))
WRAPPER(int, strfromf64, (char *dest, size_t size, const char *format, _Float64 f), (dest, size, format, f),
        writes(dest, size))
WRAPPER(int, strfromf64x, (char *dest, size_t size, const char *format, _Float64x f), (dest, size, format, f),
        writes(dest, size))
WRAPPER(int, strfroml, (char *dest, size_t size, const char *format, long double f), (dest, size, format, f),
        writes(dest, size))
WRAPPER(double, strtod_l, (const char *nptr, char **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(_Float32, strtof32, (const char *nptr, char **endptr), (nptr, endptr), OUT(endptr))
WRAPPER(_Float32, strtof32_l, (const char *nptr, char **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(_Float32x, strtof32x, (const char *nptr, char **endptr), (nptr, endptr), OUT(endptr))
WRAPPER(_Float32x, strtof32x_l, (const char *nptr, char **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(_Float64, strtof64, (const char *nptr, char **endptr), (nptr, endptr), OUT(endptr))
WRAPPER(_Float64, strtof64_l, (const char *nptr, char **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(_Float64x, strtof64x, (const char *nptr, char **endptr), (nptr, endptr), OUT(endptr))
WRAPPER(_Float64x, strtof64x_l, (const char *nptr, char **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(float, strtof_l, (const char *nptr, char **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(intmax_t, strtoimax, (const char *nptr, char **endptr, int base), (nptr, endptr, base), OUT(endptr))
WRAPPER(long, strtol_l, (const char *nptr, char **endptr, int base, locale_t loc), (nptr, endptr, base, loc),
        OUT(endptr))
WRAPPER(long double, strtold_l, (const char *nptr, char **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(long long, strtoll_l, (const char *nptr, char **endptr, int base, locale_t loc), (nptr, endptr, base, loc),
        OUT(endptr))
WRAPPER(long long, strtoq, (const char *nptr, char **endptr, int base), (nptr, endptr, base), OUT(endptr))
WRAPPER(unsigned long, strtoul_l, (const char *nptr, char **endptr, int base, locale_t loc), (nptr, endptr, base, loc),
        OUT(endptr))
WRAPPER(unsigned long long, strtoull_l, (const char *nptr, char **endptr, int base, locale_t loc),
        (nptr, endptr, base, loc), OUT(endptr))
WRAPPER(uintmax_t, strtoumax, (const char *nptr, char **endptr, int base), (nptr, endptr, base), OUT(endptr))
WRAPPER(unsigned long long, strtouq, (const char *nptr, char **endptr, int base), (nptr, endptr, base), OUT(endptr))
WRAPPER(double, wcstod_l, (const wchar_t *nptr, wchar_t **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(float, wcstof, (const wchar_t *nptr, wchar_t **endptr), (nptr, endptr), OUT(endptr))
WRAPPER(_Float32, wcstof32, (const wchar_t *nptr, wchar_t **endptr), (nptr, endptr), OUT(endptr))
WRAPPER(_Float32, wcstof32_l, (const wchar_t *nptr, wchar_t **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(_Float32x, wcstof32x, (const wchar_t *nptr, wchar_t **endptr), (nptr, endptr), OUT(endptr))
WRAPPER(_Float32x, wcstof32x_l, (const wchar_t *nptr, wchar_t **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(_Float64, wcstof64, (const wchar_t *nptr, wchar_t **endptr), (nptr, endptr), OUT(endptr))
WRAPPER(_Float64, wcstof64_l, (const wchar_t *nptr, wchar_t **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(_Float64x, wcstof64x, (const wchar_t *nptr, wchar_t **endptr), (nptr, endptr), OUT(endptr))
WRAPPER(_Float64x, wcstof64x_l, (const wchar_t *nptr, wchar_t **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(float, wcstof_l, (const wchar_t *nptr, wchar_t **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(intmax_t, wcstoimax, (const __gwchar_t *nptr, __gwchar_t **endptr, int base), (nptr, endptr, base), OUT(endptr))
WRAPPER(wchar_t *, wcstok, (wchar_t * s, const wchar_t *delim, wchar_t **ptr), (s, delim, ptr), OUT(ptr);
        const wchar_t *rest = s ? s : *ptr;
        if (rest && tracked(rest)) writes(rest, (wcslen(rest) + 1) * sizeof(wchar_t)))
WRAPPER(long, wcstol_l, (const wchar_t *nptr, wchar_t **endptr, int base, locale_t loc), (nptr, endptr, base, loc),
        OUT(endptr))
WRAPPER(long double, wcstold, (const wchar_t *nptr, wchar_t **endptr), (nptr, endptr), OUT(endptr))
WRAPPER(long double, wcstold_l, (const wchar_t *nptr, wchar_t **endptr, locale_t loc), (nptr, endptr, loc), OUT(endptr))
WRAPPER(long long, wcstoll, (const wchar_t *nptr, wchar_t **endptr, int base), (nptr, endptr, base), OUT(endptr))
WRAPPER(long long, wcstoll_l, (const wchar_t *nptr, wchar_t **endptr, int base, locale_t loc),
        (nptr, endptr, base, loc), OUT(endptr))
WRAPPER(long long, wcstoq, (const wchar_t *nptr, wchar_t **endptr, int base), (nptr, endptr, base), OUT(endptr))
WRAPPER(unsigned long, wcstoul_l, (const wchar_t *nptr, wchar_t **endptr, int base, locale_t loc),
        (nptr, endptr, base, loc), OUT(endptr))
WRAPPER(unsigned long long, wcstoull, (const wchar_t *nptr, wchar_t **endptr, int base), (nptr, endptr, base),
        OUT(endptr))
WRAPPER(unsigned long long, wcstoull_l, (const wchar_t *nptr, wchar_t **endptr, int base, locale_t loc),
        (nptr, endptr, base, loc), OUT(endptr))
WRAPPER(uintmax_t, wcstoumax, (const __gwchar_t *nptr, __gwchar_t **endptr, int base), (nptr, endptr, base),
        OUT(endptr))
WRAPPER(unsigned long long, wcstouq, (const wchar_t *nptr, wchar_t **endptr, int base), (nptr, endptr, base),
        OUT(endptr))
