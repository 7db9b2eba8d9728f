/* SPDX-License-Identifier: BSD-3-Clause */
/* The findings of Memcached's configure script on Debian 13, without external storage, proxy, TLS and SASL. */
#include <inttypes.h>
#include <stdbool.h>

#define PACKAGE "memcached"
#define VERSION "1.6.38"
#define SIZEOF_VOID_P 8
#define ENDIAN_LITTLE 1
#define HAVE_ACCEPT4 1
#define HAVE_CLOCK_GETTIME 1
#define HAVE_EVENTFD 1
#define HAVE_GCC_64ATOMICS 1
#define HAVE_GCC_ATOMICS 1
#define HAVE_GETOPT_LONG 1
#define HAVE_MLOCKALL 1
#define HAVE_PTHREAD_SETNAME_NP 1
#define HAVE_SYSCONF 1
