#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A private authority and certificates of it. An existing file stays until a month before its end; it is then renewed with
# the files that depend on it.
#
#   tls.sh authority FOLDER        ca.key and ca.crt; says "made" or "kept"
#   tls.sh request FOLDER NAME     a request to sign, if FOLDER lacks a certificate of its ca.crt that lasts, or its key
#   tls.sh sign FOLDER             a certificate by FOLDER's authority for the request on standard input
#   tls.sh check FOLDER            whether FOLDER's certificate is good for a month and its key its owner's alone
#   tls.sh alone FOLDER NAME       all of it in one folder, which every host is given a copy of
#
# Keys are made with mode 600 and never printed; a key that a request is made with is the host's own and stays there.
set -euo pipefail
umask 077
authority_days=3650 certificate_days=397 renew_days=30

die() {
    printf 'tls.sh: %s\n' "$*" >&2
    exit 2
}

lasts() { # CERTIFICATE
    openssl x509 -in "$1" -noout -checkend $((renew_days * 86400)) >/dev/null 2>&1
}

same_key() { # CERTIFICATE KEY
    [[ $(openssl x509 -in "$1" -noout -pubkey 2>/dev/null) == "$(openssl pkey -in "$2" -pubout 2>/dev/null)" ]]
}

new_key() { # FILE: appears whole
    openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$1.new" 2>/dev/null
    mv "$1.new" "$1"
}

# Without the system's own configuration, because its extensions differ between distributions.
self_signed() { # KEY
    openssl req -x509 -new -key "$1" -days "$authority_days" -config <(
        printf '%s\n' '[req]' 'distinguished_name = name' 'x509_extensions = authority' 'prompt = no' \
            '[name]' "CN = CXL-SSD testbed $(openssl rand -hex 8)" \
            '[authority]' 'basicConstraints = critical, CA:TRUE, pathlen:0' 'keyUsage = critical, keyCertSign' \
            'subjectKeyIdentifier = hash'
    )
}

authority() { # FOLDER
    mkdir -p "$1"
    if [[ -r $1/ca.key ]] && lasts "$1/ca.crt" && same_key "$1/ca.crt" "$1/ca.key"; then
        echo kept
        return
    fi
    new_key "$1/ca.key"
    self_signed "$1/ca.key" >"$1/ca.crt.new"
    mv "$1/ca.crt.new" "$1/ca.crt"
    echo made
}

is_good() { # FOLDER
    lasts "$1/ca.crt" && lasts "$1/host.crt" && openssl verify -CAfile "$1/ca.crt" "$1/host.crt" >/dev/null 2>&1 && same_key "$1/host.crt" "$1/host.key"
}

check() { # FOLDER
    is_good "$1" || die "host.crt in $1 is missing, ends within $renew_days days or is none of ca.crt: run site.yml again"
    [[ $(stat -L -c %a "$1/host.key") == 600 ]] || die "others may read $1/host.key: chmod 600"
}

request() { # FOLDER NAME
    [[ $2 =~ ^[A-Za-z0-9._-]{1,64}$ ]] || die "name '$2' is none of a host: letters, digits, dots and hyphens"
    mkdir -p "$1"
    if is_good "$1"; then return; fi
    # A key that is there is kept, so that until the new certificate comes the old one still has its key.
    openssl pkey -in "$1/host.key" -noout 2>/dev/null || new_key "$1/host.key"
    openssl req -new -key "$1/host.key" -config <(printf '%s\n' '[req]' 'distinguished_name = name' 'prompt = no' '[name]' "CN = $2")
}

# The name and the key of a request are used. All its other wishes are ignored.
sign() { # FOLDER
    openssl x509 -req -CA "$1/ca.crt" -CAkey "$1/ca.key" -set_serial "0x$(openssl rand -hex 16)" -days "$certificate_days" -extfile <(
        printf '%s\n' 'basicConstraints = critical, CA:FALSE' 'keyUsage = critical, digitalSignature' \
            'extendedKeyUsage = serverAuth, clientAuth' 'authorityKeyIdentifier = keyid'
    ) 2>/dev/null
}

alone() { # FOLDER NAME
    local done=kept
    if ! is_good "$1"; then # a copy may be without the authority's key
        done=made
        authority "$1" >/dev/null
        request "$1" "$2" | sign "$1" >"$1/host.crt.new"
        mv "$1/host.crt.new" "$1/host.crt"
    fi
    echo "$done, valid until $(openssl x509 -in "$1/host.crt" -noout -enddate | cut -d = -f 2)"
}

command -v openssl >/dev/null || die "openssl is missing; install the package openssl"
case ${1-}:$# in
authority:2 | sign:2 | check:2 | request:3 | alone:3) "$@" ;;
*)
    sed -n '3,12s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
