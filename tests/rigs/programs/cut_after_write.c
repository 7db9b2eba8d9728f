// SPDX-License-Identifier: BSD-3-Clause
// cut_after_write FILE: appends a line of text to a file, and cuts the power when the call has returned.
#include "testbed_roi.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *text = "returned\n";
    int file = open(argv[argc - 1], O_WRONLY | O_APPEND);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
        return 1;
    testbed_power_cut();
    return 1;
}
