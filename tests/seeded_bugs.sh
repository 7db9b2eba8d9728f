#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Seeded bugs: rules that a test breaks by name, to prove that it detects the violation (tests/rigs/seeded_bug.h).
# Product sources contain none. The patch PART/tests/seeded-bugs.patch inserts them into a copy of the sources of PART.
#
#   seeded_bugs.sh copy PART FOLDER   write the sources with the bugs to FOLDER, as builds do; a file without a change
#                                     keeps its time
#   seeded_bugs.sh refresh PART       adapt the patch after an edit of the sources
#   seeded_bugs.sh edit PART          write the sources with the bugs to build/seeded-bugs/PART/with, to edit the bugs
#   seeded_bugs.sh save PART          make the patch from that folder
#
# Exit status: 0 done, 1 a part of the patch does not apply, 2 bad arguments.
set -euo pipefail
export LC_ALL=C
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

die() { # STATUS SENTENCE
    printf 'tests/seeded_bugs.sh: %s\n' "$2" >&2
    exit "$1"
}

lay() { # TO: copy the sources to an empty folder
    rm -rf "$1"
    mkdir -p "$1"
    tar -C "$repo" -cf - "${folders[@]}" | tar -C "$1" -xf -
}

apply() { # TO OPTION...
    patch -d "$1" -p1 --force --no-backup-if-mismatch --input "$patch" "${@:2}"
}

failed_files() { # of the output of patch
    awk '/^patching file / { file = $3 } /^\|--- a\// { file = substr($2, 3) } / FAILED at | ignored$/ { print file }' | uniq
}

replace_changed() { # FROM TO
    local file
    (cd "$1" && find . -type f -print0) | while IFS= read -rd '' file; do
        cmp -s "$1/$file" "$2/$file" || install -D --mode=644 "$1/$file" "$2/$file"
    done
    (cd "$2" && find . -type f -print0) | while IFS= read -rd '' file; do
        [[ -e $1/$file ]] || rm "$2/$file"
    done
}

copy() { # FOLDER
    local said to=$1
    lay "$to.new"
    said=$(apply "$to.new" --fuzz=0 --reject-file=-) || {
        rm -r "$to.new"
        die 1 "$name does not apply to $(failed_files <<<"$said" | paste -sd ' '); run tests/seeded_bugs.sh refresh $part"
    }
    mkdir -p "$to"
    replace_changed "$to.new" "$to"
    rm -r "$to.new"
}

edit() {
    lay "$work/without"
    lay "$work/with"
    apply "$work/with" --fuzz=3 >"$work/log" ||
        die 1 "$name: some hunks do not apply; insert them by hand in build/seeded-bugs/$part/with, guided by the .rej files there ($(failed_files <"$work/log" | paste -sd ' ')), then run tests/seeded_bugs.sh save $part"
}

save() {
    local file
    [[ -d $work/with ]] || die 2 "build/seeded-bugs/$part/with does not exist; run tests/seeded_bugs.sh edit $part first"
    sed '/^--- /,$d' "$patch" >"$work/patch"
    (cd "$work/with" && find . -type f ! -name '*.rej' -printf '%P\0' | sort -z) | while IFS= read -rd '' file; do
        diff -uN --label "a/$file" --label "b/$file" "$work/without/$file" "$work/with/$file" >>"$work/patch" || [[ $? == 1 ]]
    done
    mv "$work/patch" "$patch"
    copy "$work/check"
    rm -r "$work"
}

verb=${1-} part=${2-}
part=${part%/}
name=$part/tests/seeded-bugs.patch patch=$repo/$part/tests/seeded-bugs.patch work=$repo/build/seeded-bugs/$part
case $verb:$# in
    copy:3 | refresh:2 | edit:2 | save:2) ;;
    *) die 2 "usage: seeded_bugs.sh copy PART FOLDER, or refresh, edit or save PART" ;;
esac
[[ -f $patch ]] || die 2 "there is no $name"
read -ra folders < <(sed -n 's/^Folders: //p' "$patch")
case $verb in
    copy) copy "$3" ;;
    refresh)
        edit
        save
        ;;
    edit)
        edit
        echo "edit build/seeded-bugs/$part/with, then run tests/seeded_bugs.sh save $part"
        ;;
    save) save ;;
esac
