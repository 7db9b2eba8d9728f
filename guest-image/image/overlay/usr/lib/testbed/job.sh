# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Takes the job from the host, and reports its results. Sourced after guest.sh.

# The host hands the job over here, often to several copies of this guest, so that the start of the guest is done once for all of them.
take_job() {
    local job=/run/testbed/job.tar
    take-job >"$job" || return
    [[ ! -s $job ]] || tar -x -C / -f "$job" || return
    rm "$job"
}

# Each line of the job's output becomes one JSON line on the results port.
report() { # EXIT STATUS
    local stream
    for stream in stdout stderr; do
        base64 -w 4096 "/run/testbed/$stream" | sed "s/.*/{\"type\":\"output\",\"stream\":\"$stream\",\"base64\":\"&\"}/" >"$results"
    done
    sed 's/.*/{"type":"result","data":&}/' "$TESTBED_RESULT" >"$results"
    say "{\"type\":\"exit\",\"status\":$1}"
}
