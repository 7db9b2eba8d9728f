/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included by snapcc and snap++ before everything else. Until C++17 libstdc++ declares std::string an extern template:
 * its members would be taken from libstdc++.so, which has not been through the pass. -1 is libstdc++'s own way to say
 * that strings, and only they, are to be compiled with the program.
 */
#if defined(__cplusplus) && defined(__has_include)
#if __has_include(<bits/c++config.h>)
#include <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
#endif
