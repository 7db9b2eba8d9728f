/* SPDX-License-Identifier: BSD-3-Clause OR GPL-2.0-or-later */
#include "invariant.h"

#include "../seeded_bug.h"

void invariant_broken(struct tbfs *fs, const char *sentence, uint64_t number) {
#ifdef TBFS_SEEDED_BUGS
    if (*tbfs_seeded_bug)
        return; /* the crash states must reveal the bug, not an invariant */
#endif
    if (fs->broken)
        return;
    fs->broken = sentence;
    fs->read_only = true;
    if (fs->options.report)
        fs->options.report(fs, sentence, number);
}
