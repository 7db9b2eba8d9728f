/* SPDX-License-Identifier: BSD-3-Clause */
/* make_tbfs DEVICE: a new tbfs. The parts of the core that the tool needs for that, in one file, as the guest of a
 * crash test has no other archives. */
#include <stdio.h>

#include "../../../guest-image/modules/tbfs/core/medium/crc32c.c"
#include "../../../guest-image/modules/tbfs/core/medium/invariant.c"
#include "../../../guest-image/modules/tbfs/core/medium/journal.c"
#include "../../../guest-image/modules/tbfs/core/medium/space.c"
#include "../../../guest-image/modules/tbfs/core/medium/super.c"
#include "../../../guest-image/modules/tbfs/core/volume/make.c"
#include "../../../guest-image/modules/tbfs/tools/image.c"
#include "../../../guest-image/modules/tbfs/tools/persist_plain.c"

int main(int argc, char **argv) {
    struct tbfs_space space;
    struct tbfs_layout layout = {0};
    int status = argc == 2 ? image_open(argv[1], IMAGE_CHANGE, &space) : -EINVAL;
    if (status == 0)
        status = tbfs_make(space, &layout, 0);
    if (status == 0)
        status = image_close(&space);
    if (status < 0)
        fprintf(stderr, "make_tbfs: %s: %s\n", argc > 1 ? argv[1] : "no device", strerror(-status));
    return status < 0 ? 2 : 0;
}
