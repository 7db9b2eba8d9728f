// SPDX-License-Identifier: BSD-3-Clause
// roi query|begin [ID]|end|reset|mark N|wbarrier|hot-pages [DEVICE]|power-cut: the doorbell for shell scripts.
#include "testbed_roi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int query(void) {
    uint32_t version = testbed_query();
    printf("%s\n", version ? "testbed" : "no testbed");
    return version ? 0 : 1;
}

// One line for each page: its offset on the device, lines read, lines written.
static void print_hot_pages(uint32_t device) {
    for (uint32_t rank = 0;; rank++) {
        struct testbed_hot_page page = testbed_hot_page(device, rank);
        if (!page.reads && !page.writes)
            return;
        printf("0x%llx %u %u\n", (unsigned long long)page.dpa, page.reads, page.writes);
    }
}

int main(int argc, char **argv) {
    const char *verb = argc > 1 ? argv[1] : "";
    uint32_t number = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 0) : 1;

    if (!strcmp(verb, "query"))
        return query();
    if (!strcmp(verb, "begin"))
        testbed_roi_begin(number);
    else if (!strcmp(verb, "end"))
        testbed_roi_end();
    else if (!strcmp(verb, "reset"))
        testbed_reset_counters();
    else if (!strcmp(verb, "mark") && argc > 2)
        testbed_mark(number);
    else if (!strcmp(verb, "wbarrier"))
        testbed_wbarrier();
    else if (!strcmp(verb, "hot-pages"))
        print_hot_pages(argc > 2 ? number : 0);
    else if (!strcmp(verb, "power-cut"))
        testbed_power_cut();
    else {
        fprintf(stderr, "usage: roi query | begin [ID] | end | reset | mark NUMBER | wbarrier | hot-pages [DEVICE] | "
                        "power-cut\n");
        return 2;
    }
    return 0;
}
