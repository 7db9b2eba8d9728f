#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# every_option.sh "OPT COMMAND" FILECHECK FILE: the checks of FILE hold for every combination of the pass's switches.
set -euo pipefail
read -ra opt <<<"$1"
for coalesce in "" -snapshot-no-coalesce; do
    for hoist in "" -snapshot-no-hoist; do
        for repeated in "" -snapshot-no-elide-repeated; do
            switches=()
            for switch in $coalesce $hoist $repeated; do switches+=("$switch"); done
            "${opt[@]}" "${switches[@]}" "$3" | "$2" "$3" || { echo "with ${switches[*]:-no switch}" >&2; exit 1; }
        done
    done
done
