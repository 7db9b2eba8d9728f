/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "invariant.h"

void invariant_broken(struct tbfs *fs, const char *sentence, uint64_t number) {
    if (fs->broken)
        return;
    fs->broken = sentence;
    fs->read_only = true;
    if (fs->options.report)
        fs->options.report(fs, sentence, number);
}
