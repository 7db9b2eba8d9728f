// SPDX-License-Identifier: GPL-2.0-or-later
// Built with one seeded bug in the flash. Exit status 0 if the reference or a corrupted state reveals it.
#include <cstdio>

#include "../reference/flash_scenario.h"
#include "../rigs/flash_bytes.h"
#include "../rigs/flash_rig.h"
#include "hunt.h"

// Loading must reject a state in which two pages are mapped to the same place.
static bool takes_a_page_mapped_twice() {
    MemDeviceConfig config = with_ftl(small_flash());
    MemFlash f;
    MemCounters ignored = {};
    mem_flash_init(&f, &config);
    mem_flash_program(&f, &ignored, 0, 0);
    std::vector<uint8_t> bytes = save_flash(f);
    size_t table = 8 + 4 + 4 + 8 * (8 + f.plane_count + 1 + 1); // offset of the mapping: page 0, page 1, ...
    std::copy_n(bytes.begin() + long(table), 8, bytes.begin() + long(table) + 8);
    seal(bytes);
    bool taken = load_flash(f, bytes) == nullptr;
    mem_flash_destroy(&f);
    return taken;
}

int main() {
    if (takes_a_page_mapped_twice()) {
        std::printf("found: two pages share a place\n");
        return 0;
    }
    return hunt(run_flash_scenario, 400, 400);
}
