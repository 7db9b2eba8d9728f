/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * std::istream and <charconv>: libstdc++ reads or formats into the caller's memory. Names are mangled. A stream waits
 * for its input, or calls a buffer class of the program, so its data goes to private memory first (libc/bounce.h).
 */
#include <stdbool.h>

#include "libc/bounce.h"

/* std::istream &name(std::istream &, value &) */
#define NUMBER(name, type)                                                                                             \
    void *name(void *stream, type *to);                                                                                \
    WRAPPER(void *, name, (void *stream, type *to), (stream, to), ASIDE(to))
NUMBER(_ZNSirsERb, bool)
NUMBER(_ZNSirsERs, short)
NUMBER(_ZNSirsERt, unsigned short)
NUMBER(_ZNSirsERi, int)
NUMBER(_ZNSirsERj, unsigned)
NUMBER(_ZNSirsERl, long)
NUMBER(_ZNSirsERm, unsigned long)
NUMBER(_ZNSirsERx, long long)
NUMBER(_ZNSirsERy, unsigned long long)
NUMBER(_ZNSirsERf, float)
NUMBER(_ZNSirsERd, double)
NUMBER(_ZNSirsERe, long double)
NUMBER(_ZNSirsERPv, void *)
NUMBER(_ZNSi10_M_extractIbEERSiRT_, bool)
NUMBER(_ZNSi10_M_extractItEERSiRT_, unsigned short)
NUMBER(_ZNSi10_M_extractIjEERSiRT_, unsigned)
NUMBER(_ZNSi10_M_extractIlEERSiRT_, long)
NUMBER(_ZNSi10_M_extractImEERSiRT_, unsigned long)
NUMBER(_ZNSi10_M_extractIxEERSiRT_, long long)
NUMBER(_ZNSi10_M_extractIyEERSiRT_, unsigned long long)
NUMBER(_ZNSi10_M_extractIfEERSiRT_, float)
NUMBER(_ZNSi10_M_extractIdEERSiRT_, double)
NUMBER(_ZNSi10_M_extractIeEERSiRT_, long double)
NUMBER(_ZNSi10_M_extractIPvEERSiRT_, void *)
NUMBER(_ZNSi3getERc, char)
NUMBER(_ZStrsIcSt11char_traitsIcEERSt13basic_istreamIT_T0_ES6_RS3_, char)
NUMBER(_ZStrsISt11char_traitsIcEERSt13basic_istreamIcT_ES5_Ra, signed char)
NUMBER(_ZStrsISt11char_traitsIcEERSt13basic_istreamIcT_ES5_Rh, unsigned char)

/* Functions for up to n characters: read, readsome, get and getline without and with a delimiter, >> to an array. */
#define ASIDE_TEXT ASIDE_BYTES(to, n > 0 ? (size_t)n : 0)
#define TEXT(name)                                                                                                     \
    void *name(void *stream, char *to, long n);                                                                        \
    WRAPPER(void *, name, (void *stream, char *to, long n), (stream, to, n), ASIDE_TEXT)
#define TEXT_UNTIL(name)                                                                                               \
    void *name(void *stream, char *to, long n, char delimiter);                                                        \
    WRAPPER(void *, name, (void *stream, char *to, long n, char delimiter), (stream, to, n, delimiter), ASIDE_TEXT)
TEXT(_ZNSi4readEPcl)
TEXT(_ZNSi8readsomeEPcl)
TEXT(_ZNSi3getEPcl)
TEXT(_ZNSi7getlineEPcl)
TEXT(_ZSt17__istream_extractRSiPcl)
TEXT_UNTIL(_ZNSi3getEPclc)
TEXT_UNTIL(_ZNSi7getlineEPclc)

/* std::to_chars_result and std::from_chars_result */
struct chars_result {
    const char *end;
    int error;
};

#define TO_CHARS(suffix, type)                                                                                         \
    struct chars_result _ZSt8to_charsPcS_##suffix(char *to, char *end, type value);                                    \
    WRAPPER(struct chars_result, _ZSt8to_charsPcS_##suffix, (char *to, char *end, type value), (to, end, value),       \
            writes(to, (size_t)(end - to)))                                                                            \
    struct chars_result _ZSt8to_charsPcS_##suffix##St12chars_format(char *to, char *end, type value, unsigned format); \
    WRAPPER(struct chars_result, _ZSt8to_charsPcS_##suffix##St12chars_format,                                          \
            (char *to, char *end, type value, unsigned format), (to, end, value, format),                              \
            writes(to, (size_t)(end - to)))                                                                            \
    struct chars_result _ZSt8to_charsPcS_##suffix##St12chars_formati(char *to, char *end, type value, unsigned format, \
                                                                     int precision);                                   \
    WRAPPER(struct chars_result, _ZSt8to_charsPcS_##suffix##St12chars_formati,                                         \
            (char *to, char *end, type value, unsigned format, int precision), (to, end, value, format, precision),    \
            writes(to, (size_t)(end - to)))                                                                            \
    struct chars_result _ZSt10from_charsPKcS0_R##suffix##St12chars_format(const char *from, const char *end, type *to, \
                                                                          unsigned format);                            \
    WRAPPER(struct chars_result, _ZSt10from_charsPKcS0_R##suffix##St12chars_format,                                    \
            (const char *from, const char *end, type *to, unsigned format), (from, end, to, format), OUT(to))
TO_CHARS(f, float)
TO_CHARS(d, double)
TO_CHARS(e, long double)

/* For libcxx_strings.cpp: the pass would redirect its calls of these functions to itself. */
#define GETLINE                                                                                                        \
    _ZSt7getlineIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EES4_
#define EXTRACT _ZStrsIcSt11char_traitsIcESaIcEERSt13basic_istreamIT_T0_ES7_RNSt7__cxx1112basic_stringIS4_S5_T1_EE

void *GETLINE(void *stream, void *string, char end);
void *EXTRACT(void *stream, void *string);
void *snapshot_plain_getline(void *stream, void *string, char end);
void *snapshot_plain_extract(void *stream, void *string);
void *snapshot_plain_getline(void *stream, void *string, char end) { return GETLINE(stream, string, end); }
void *snapshot_plain_extract(void *stream, void *string) { return EXTRACT(stream, string); }
