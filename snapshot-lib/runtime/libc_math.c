/* SPDX-License-Identifier: BSD-3-Clause */
/* Results that libm returns through pointers. */
#define _GNU_SOURCE
#include <math.h>

#include "libc_wrap.h"

#define OF_TYPE(type, suffix)                                                                                          \
    WRAPPER(type, frexp##suffix, (type x, int *exponent), (x, exponent), OUT(exponent))                                \
    WRAPPER(type, modf##suffix, (type x, type * whole), (x, whole), OUT(whole))                                        \
    WRAPPER(type, remquo##suffix, (type x, type y, int *quotient), (x, y, quotient), OUT(quotient))                    \
    WRAPPER(type, lgamma##suffix##_r, (type x, int *sign), (x, sign), OUT(sign))                                       \
    WRAPPER_VOID(sincos##suffix, (type x, type * sine, type * cosine), (x, sine, cosine), OUT(sine); OUT(cosine))

OF_TYPE(double, )
OF_TYPE(float, f)
OF_TYPE(long double, l)
