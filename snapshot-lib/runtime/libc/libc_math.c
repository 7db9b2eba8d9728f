/* SPDX-License-Identifier: BSD-3-Clause */
/* Results that libm returns through pointers. */
#define _GNU_SOURCE
#include <fenv.h>
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

WRAPPER(int, canonicalize, (double *cx, const double *x), (cx, x), OUT(cx))
WRAPPER(int, canonicalizef, (float *cx, const float *x), (cx, x), OUT(cx))
WRAPPER(int, canonicalizef32, (_Float32 * cx, const _Float32 *x), (cx, x), OUT(cx))
WRAPPER(int, canonicalizef32x, (_Float32x * cx, const _Float32x *x), (cx, x), OUT(cx))
WRAPPER(int, canonicalizef64, (_Float64 * cx, const _Float64 *x), (cx, x), OUT(cx))
WRAPPER(int, canonicalizef64x, (_Float64x * cx, const _Float64x *x), (cx, x), OUT(cx))
WRAPPER(int, canonicalizel, (long double *cx, const long double *x), (cx, x), OUT(cx))
WRAPPER(int, fegetenv, (fenv_t * envp), (envp), OUT(envp))
WRAPPER(int, fegetexceptflag, (fexcept_t * flagp, int excepts), (flagp, excepts), OUT(flagp))
WRAPPER(int, fegetmode, (femode_t * modep), (modep), OUT(modep))
WRAPPER(int, feholdexcept, (fenv_t * envp), (envp), OUT(envp))
WRAPPER(_Float32, frexpf32, (_Float32 x, int *exponent), (x, exponent), OUT(exponent))
WRAPPER(_Float32x, frexpf32x, (_Float32x x, int *exponent), (x, exponent), OUT(exponent))
WRAPPER(_Float64, frexpf64, (_Float64 x, int *exponent), (x, exponent), OUT(exponent))
WRAPPER(_Float64x, frexpf64x, (_Float64x x, int *exponent), (x, exponent), OUT(exponent))
WRAPPER(int, getloadavg, (double *loadavg, int nelem), (loadavg, nelem),
        writes(loadavg, nelem > 0 ? (size_t)nelem * sizeof(double) : 0))
WRAPPER(_Float32, lgammaf32_r, (_Float32 p0, int *signgamp), (p0, signgamp), OUT(signgamp))
WRAPPER(_Float32x, lgammaf32x_r, (_Float32x p0, int *signgamp), (p0, signgamp), OUT(signgamp))
WRAPPER(_Float64, lgammaf64_r, (_Float64 p0, int *signgamp), (p0, signgamp), OUT(signgamp))
WRAPPER(_Float64x, lgammaf64x_r, (_Float64x p0, int *signgamp), (p0, signgamp), OUT(signgamp))
WRAPPER(_Float32, modff32, (_Float32 x, _Float32 *iptr), (x, iptr), OUT(iptr))
WRAPPER(_Float32x, modff32x, (_Float32x x, _Float32x *iptr), (x, iptr), OUT(iptr))
WRAPPER(_Float64, modff64, (_Float64 x, _Float64 *iptr), (x, iptr), OUT(iptr))
WRAPPER(_Float64x, modff64x, (_Float64x x, _Float64x *iptr), (x, iptr), OUT(iptr))
WRAPPER(_Float32, remquof32, (_Float32 x, _Float32 y, int *quo), (x, y, quo), OUT(quo))
WRAPPER(_Float32x, remquof32x, (_Float32x x, _Float32x y, int *quo), (x, y, quo), OUT(quo))
WRAPPER(_Float64, remquof64, (_Float64 x, _Float64 y, int *quo), (x, y, quo), OUT(quo))
WRAPPER(_Float64x, remquof64x, (_Float64x x, _Float64x y, int *quo), (x, y, quo), OUT(quo))
WRAPPER(int, setpayload, (double *x, double payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadf, (float *x, float payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadf32, (_Float32 * x, _Float32 payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadf32x, (_Float32x * x, _Float32x payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadf64, (_Float64 * x, _Float64 payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadf64x, (_Float64x * x, _Float64x payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadl, (long double *x, long double payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadsig, (double *x, double payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadsigf, (float *x, float payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadsigf32, (_Float32 * x, _Float32 payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadsigf32x, (_Float32x * x, _Float32x payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadsigf64, (_Float64 * x, _Float64 payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadsigf64x, (_Float64x * x, _Float64x payload), (x, payload), OUT(x))
WRAPPER(int, setpayloadsigl, (long double *x, long double payload), (x, payload), OUT(x))
WRAPPER_VOID(sincosf32, (_Float32 x, _Float32 *sinx, _Float32 *cosx), (x, sinx, cosx), OUT(sinx); OUT(cosx))
WRAPPER_VOID(sincosf32x, (_Float32x x, _Float32x *sinx, _Float32x *cosx), (x, sinx, cosx), OUT(sinx); OUT(cosx))
WRAPPER_VOID(sincosf64, (_Float64 x, _Float64 *sinx, _Float64 *cosx), (x, sinx, cosx), OUT(sinx); OUT(cosx))
WRAPPER_VOID(sincosf64x, (_Float64x x, _Float64x *sinx, _Float64x *cosx), (x, sinx, cosx), OUT(sinx); OUT(cosx))
