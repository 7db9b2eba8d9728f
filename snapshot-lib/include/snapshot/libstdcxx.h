/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * snapcc and snap++ include this header before everything else. Until C++17 libstdc++ declares std::string an extern
 * template: the linker would take its members from libstdc++.so, which the pass has not compiled. The value -1 makes
 * libstdc++ instantiate strings, and only strings, in the program.
 */
#if defined(__cplusplus) && defined(__has_include)
#if __has_include(<bits/c++config.h>)
#include <bits/c++config.h>
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
#endif
