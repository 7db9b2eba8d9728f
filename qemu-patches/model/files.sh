# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The files of the model: builds copy these files and compile the copy, and keys hash the same files, so that no build
# contains a file that its key leaves out. Sourced.

model_files() { # MODEL: sources.list, the sources that it lists and the headers beside them, as paths in the folder MODEL
    (
        cd "$1"
        echo sources.list
        cat sources.list
        xargs -n 1 dirname <sources.list | sort -u | xargs -I FOLDER find FOLDER -maxdepth 1 -name '*.h' | sed 's|^\./||'
    )
}
