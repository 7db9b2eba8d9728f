# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Sources of programs that nobody here wrote, from Debian 13's source packages. Only the upstream tarballs are fetched: mirrors
# may lack the packaging. apt knows their hashes from the signed index. Sourced, after archive.sh, by a script that defines:
#
#   packages   names of the source packages; each is unpacked into a folder of its name
#   folder     where the script is
#   patches    the files that the trees depend on besides; the script itself need not be named
#   derive     TREE: makes patched copies in a tree that has just been unpacked
#   die, usage as everywhere
tarballs=$cache/program-sources

# "URI NAME SHA256" of a package's newest upstream tarball, whichever suite has it.
orig_tarball() { # PACKAGE
    private_apt apt-get source --print-uris --only-source -qq "$1" |
        sed -nE "s/^'([^']+)' ([^ ]+\.orig\.tar\.[a-z0-9]+) [0-9]+ SHA256:([0-9a-f]+)$/\1 \2 \3/p"
}

tarball_lines() {
    local package line
    refresh_lists || exit 2 # it has said why
    for package in "${packages[@]}"; do
        line=$(orig_tarball "$package")
        [[ -n $line ]] || die "Debian $suite has no source package $package: check TESTBED_DEBIAN_MIRROR"
        echo "$line"
    done
}

# Without the URI: the same tarball from another mirror is the same.
named() { # LINES
    cut -d' ' -f2- <<<"$1"
}

# Prints where the tarball is; one with another hash is fetched again.
tarball() { # URI NAME SHA256
    local scratch file=$tarballs/$2
    if ! echo "$3  $file" | sha256sum --check --status 2>/dev/null; then
        mkdir -p "$tarballs"
        scratch=$(mktemp -d "$tarballs/fetch.XXXXXX")
        /usr/lib/apt/apt-helper -o APT::Sandbox::User="$(id -un)" download-file "$1" "$scratch/tarball" "SHA256:$3" \
            >"$scratch/log" 2>&1 || {
            sed 's/^/apt: /' "$scratch/log" >&2
            rm -r "$scratch"
            die "cannot download $2 with SHA-256 $3: check the network, or set TESTBED_DEBIAN_MIRROR"
        }
        mv "$scratch/tarball" "$file"
        rm -r "$scratch"
    fi
    echo "$file"
}

apply() { # DIR PATCH
    patch -d "$1" -p1 --fuzz=0 --quiet --input "$2" ||
        die "${2##*/} does not apply to the source that Debian $suite has now"
}

apply_series() { # DIR FOLDER, which has patches and their order in `series`
    local patch
    while read -r patch; do apply "$1" "$2/$patch"; done <"$2/series"
}

# DIR appears whole or not at all; nothing is done if it is up to date.
prepare() { # DIR
    local dir=$1 lines made_from uri name sum file tree
    lines=$(tarball_lines)
    made_from=$(named "$lines" && cat "${patches[@]}" "$folder/sources.sh" "${BASH_SOURCE[0]}" | sha256sum)
    [[ ! -f $dir/made-from || $(<"$dir/made-from") != "$made_from" ]] || return 0
    mkdir -p "$(dirname "$dir")"
    tree=$(mktemp -d "$dir.XXXXXX")
    while read -r uri name sum; do
        file=$(tarball "$uri" "$name" "$sum")
        mkdir "$tree/${name%%_*}"
        tar -x -f "$file" -C "$tree/${name%%_*}" --strip-components=1 --no-same-owner
    done <<<"$lines"
    derive "$tree"
    printf '%s\n' "$made_from" >"$tree/made-from"
    rm -rf "$dir"
    mv "$tree" "$dir"
}

program_sources() { # ARGUMENTS of the script
    local lines
    case ${1:-}:$# in
        fingerprint:1)
            lines=$(tarball_lines)
            named "$lines"
            ;;
        prepare:2) prepare "$2" ;;
        -h:1 | --help:1) usage ;;
        *)
            usage >&2
            exit 2
            ;;
    esac
}
