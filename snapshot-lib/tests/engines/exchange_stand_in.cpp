// SPDX-License-Identifier: BSD-3-Clause
//
// In front of libc (LD_PRELOAD): files in memory exchange ranges as those of XFS do, for programs of fams-exchange.
#include <sys/syscall.h>

#include <cstdarg>

#include "exchange_ranges.hpp"

extern "C" int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (request != engines::ExchangeCall)
        return static_cast<int>(syscall(SYS_ioctl, fd, request, argument));
    errno = exchangeRanges(fd, *static_cast<engines::ExchangeRange *>(argument));
    return errno ? -1 : 0;
}
