# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Debian's archive: which mirror, and which package versions. Sourced by build.sh here and in qemu-patches.
#
# A private apt (own lists, empty dpkg status, signatures checked against Debian's keyring) resolves the package lists to exact
# versions; those versions are the fingerprint, and mmdebstrap is then told to install exactly them.

suite=trixie
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
cache=${TESTBED_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cxl-ssd-testbed}
lists_dir=$cache/debian-lists
ccache_dir=$cache/ccache
lists_max_age_minutes=1440

# "URI SUITE" of each package index this machine's apt uses, whatever the format of its sources.
host_indexes() {
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
        awk '$3 == "main" { print $1, $2 }' | sort -u
}

mirror_of() { # REGEX of suite names
    host_indexes | awk -v suite="$1" '$2 ~ suite { print $1; exit }'
}

# Debian's suites only: a Debian derivative's mirror usually does not carry them.
sources() {
    local release='(bullseye|bookworm|trixie|forky|sid|oldstable|stable|testing|unstable)' main security
    main=${TESTBED_DEBIAN_MIRROR:-$(mirror_of "^$release\$")}
    security=${TESTBED_DEBIAN_SECURITY_MIRROR:-$(mirror_of "^$release-security\$")}
    [[ -n $main ]] || die "this machine's apt has no Debian mirror: set TESTBED_DEBIAN_MIRROR to one (and TESTBED_DEBIAN_SECURITY_MIRROR)"
    [[ -r $keyring ]] || die "$keyring is missing: install the package debian-archive-keyring"
    printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$main" "$suite" "$keyring" "$main" "$suite-updates"
    [[ -z $security ]] || printf 'deb [signed-by=%s] %s %s main\n' "$keyring" "$security" "$suite-security"
}

# The machine's own proxy and validity settings; everything else stays at apt's defaults.
acquire_options() {
    apt-config dump | grep -E '^Acquire::(.*Proxy|.*CaInfo|Check-Valid-Until|Check-Date|Retries)' || true
}

private_apt() { # COMMAND ARGUMENTS, e.g. private_apt apt-get update
    APT_CONFIG=$lists_dir/apt.conf "$@"
}

write_private_apt() {
    mkdir -p "$lists_dir"/{lists/partial,archives/partial} || die "cannot create $lists_dir: is the disk full or read-only?"
    : >"$lists_dir/status"
    sources | sed 'p; s/^deb /deb-src /' >"$lists_dir/sources.list" # source packages too: QEMU is built from one
    {
        acquire_options
        printf '%s "%s";\n' APT::Architecture amd64 APT::Architectures:: amd64 APT::Install-Recommends false \
            Acquire::Languages none Dir::Etc::SourceList "$lists_dir/sources.list" Dir::Etc::SourceParts /dev/null \
            Dir::Etc::Preferences /dev/null Dir::Etc::PreferencesParts /dev/null Dir::State "$lists_dir" \
            Dir::State::Lists "$lists_dir/lists" Dir::State::Status "$lists_dir/status" Dir::Cache "$lists_dir" \
            Dir::Cache::Archives "$lists_dir/archives" APT::Sandbox::User root Debug::NoLocking true
    } >"$lists_dir/apt.conf"
}

enough_for_lists() {
    local free_mib
    free_mib=$(df --output=avail -BM "$lists_dir" | tail -n 1 | tr -dc 0-9)
    ((free_mib >= 200)) || die "the disk holding $lists_dir has $free_mib MiB free and Debian's package lists take 200: free some space"
}

forget_lists() {
    rm -f "$lists_dir/fresh"
}

# Lists younger than a day are used as they are, so that a warm run needs no network; so are old ones when there is none.
refresh_lists() {
    mkdir -p "$lists_dir" || die "cannot create $lists_dir: is the disk full or read-only?"
    (flock 9 && refresh_lists_locked) 9>"$lists_dir.lock"
}

refresh_lists_locked() {
    if [[ -n $(find "$lists_dir/fresh" -mmin -$lists_max_age_minutes 2>/dev/null) ]]; then
        return
    fi
    enough_for_lists
    write_private_apt
    # apt waits for ever when its lists do not fit.
    if private_apt timeout 600 apt-get update --error-on=any >"$lists_dir/update.log" 2>&1; then
        cp "$lists_dir/sources.list" "$lists_dir/complete" && touch "$lists_dir/fresh"
    elif grep -qi 'no space left' "$lists_dir/update.log"; then
        die "the disk holding $lists_dir is full: free some space and run again"
    elif cmp -s "$lists_dir/sources.list" "$lists_dir/complete"; then
        printf 'guest-image: the Debian mirror cannot be reached, using the package lists read before\n' >&2
    else
        sed 's/^/apt: /' "$lists_dir/update.log" >&2
        die "the Debian mirror cannot be reached and no package lists were read before: check the network, or set TESTBED_DEBIAN_MIRROR"
    fi
}

listed() { # FILE: its entries, comments dropped
    sed -e 's/#.*//' "$here/packages/$1" | tr -s ' \t' '\n\n' | sed '/^$/d'
}

# "name=version" of a package list and everything it depends on.
resolved() { # LIST
    local names
    mapfile -t names < <(listed "$1")
    resolved_names "${names[@]}"
}

# The same of packages that are named.
resolved_names() { # NAME...
    local simulated
    refresh_lists || exit 2 # it has said why
    simulated=$(private_apt apt-get install --simulate -qq "$@" 2>&1) ||
        die "Debian 13 has no such packages ($*): $(sed -n 's/^E: //p' <<<"$simulated" | head -n 1)"
    sed -nE 's/^Inst ([^ ]+) \(([^ ]+) .*/\1=\2/p' <<<"$simulated" | sort
}

# Files that packages still install in /bin, /lib and so on pass through links to /usr, as in the base.
unpack_debs() { # ROOT DEB...
    local root=$1 name deb
    shift
    mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
    for name in bin sbin lib lib64; do ln -s "usr/$name" "$root/$name"; done
    for deb in "$@"; do
        dpkg-deb --fsys-tarfile "$deb" | tar -C "$root" -x --no-same-owner --same-permissions --keep-directory-symlink \
            --exclude='./usr/share/doc' --exclude='./usr/share/man' --exclude='./usr/share/info' \
            --exclude='./usr/share/locale' --exclude='./usr/share/lintian' --exclude='./usr/lib/x86_64-linux-gnu/gconv'
    done
    rm "$root"/{bin,sbin,lib,lib64}
}

# The kernel comes without its dependencies: they are for installing it on a disk.
resolved_kernel() {
    local package
    package=$(private_apt apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p')
    [[ -n $package ]] || die "Debian's archive offers no linux-image-cloud-amd64"
    private_apt apt-cache policy "$package" | awk -v name="$package" '/Candidate:/ { print name "=" $2 }'
}

# Unpack exactly the given versions into a tar file. No maintainer script runs: nothing here needs one.
unpack_packages() { # TAR NAME=VERSION...
    local tar=$1 source=() option
    shift
    while IFS= read -r option; do source+=("$option"); done < <(sources)
    acquire_options >"$tar.apt-options"
    printf '%s\n' "${source[@]}" |
        mmdebstrap --variant=extract --architectures=amd64 --format=tar --skip=output/dev --keyring="$keyring" --aptopt="$tar.apt-options" \
            --include="$(IFS=,; echo "$*")" "${kernel_hook[@]}" "$suite" "$tar" -
}
