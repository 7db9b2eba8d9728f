# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What whoever compiles the model is to take: builds copy these files and compile the copy, and keys hash the same ones,
# so that no build can contain what its key leaves out. Sourced.

model_files() { # MODEL: sources.list, what it lists and the headers beside that, as paths in the folder MODEL
    (
        cd "$1"
        echo sources.list
        cat sources.list
        xargs -n 1 dirname <sources.list | sort -u | xargs -I FOLDER find FOLDER -maxdepth 1 -name '*.h' | sed 's|^\./||'
    )
}
