// SPDX-License-Identifier: BSD-3-Clause
// roi-run PROGRAM ARGS: run any binary as region of interest 1, with the exit status a shell would give it.
#include "testbed_roi.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// The status that a shell reports for a program that does not exist, is not executable, or was killed by a signal.
enum { STATUS_USAGE = 2, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127, STATUS_SIGNAL = 128 };

static int exec_failed(const char *program) {
    int status = errno == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
    fprintf(stderr, "roi-run: %s: %s\n", program, strerror(errno));
    return status;
}

static int wait_for(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return STATUS_NOT_EXECUTABLE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : STATUS_SIGNAL + WTERMSIG(status);
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: roi-run PROGRAM [ARGUMENTS]\n");
        return STATUS_USAGE;
    }
    testbed_roi_begin(1);
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        _exit(exec_failed(argv[1]));
    }
    int status = child < 0 ? exec_failed(argv[1]) : wait_for(child);
    testbed_roi_end();
    return status;
}
