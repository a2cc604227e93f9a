#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: version.sh SOURCE - the recipes of packages, the crates, the documents and the test programs name the version
# of CMakeLists.txt, and a released version has a date and a dump of its interface.
set -euo pipefail
cd "$1"
version=$(sed -n 's/^project(rtrcu VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
minor=${version%.*}
status=0
expect() { # file, pattern with one group, value: each line that matches has this value, and there is such a line
    local found
    found=$(sed -nE "s|.*$2.*|\1|p" "$1" | sort -u)
    [ "$found" = "$3" ] && return
    echo "$1: expected $3, found ${found:-nothing}, by the pattern $2" >&2
    status=1
}
expect packaging/rpm/rtrcu.spec '^Version: *([0-9.]+)' "$version"
expect packaging/alpine/APKBUILD '^pkgver=([0-9.]+)' "$version"
expect packaging/arch/PKGBUILD '^pkgver=([0-9.]+)' "$version"
expect packaging/debian/control 'librtrcu([0-9.]+[0-9])' "$minor"
expect packaging/debian/rules '-plibrtrcu([0-9.]+)' "$minor"
expect rust/Cargo.toml '^version = "([0-9.]+)"' "$version"
expect rust/rtrcu/Cargo.toml 'rtrcu-sys".*version = "([0-9.]+)"' "$version"
expect rust/bench/Cargo.toml '\.\./rtrcu.*version = "([0-9.]+)"' "$version"
expect docs/building.md 'librtrcu([0-9.]+[0-9])`' "$minor"
expect docs/building.md 'librtrcu\.so\.([0-9.]+[0-9])' "$minor"
expect docs/building.md 'find_package\(rtrcu ([0-9.]+)' "$minor"
expect docs/releases.md 'librtrcu\.so\.([0-9.]+[0-9])` now' "$minor"
expect docs/releases.md 'find_package\(rtrcu ([0-9.]+)' "$minor"
expect docs/stuck.md 'librtrcu\.so\.([0-9.]+[0-9])' "$minor"
expect include/rtrcu/rcu.h '"([0-9.]+)", the version' "$version"
expect include/rtrcu/rcu.h '^#define RTRCU_VERSION_MAJOR ([0-9]+)' "${version%%.*}"
expect include/rtrcu/rcu.h '^#define RTRCU_VERSION_MINOR ([0-9]+)' "${minor#*.}"
expect include/rtrcu/rcu.h '^#define RTRCU_VERSION_PATCH ([0-9]+)' "${version##*.}"
expect test/install/consumer/CMakeLists.txt 'find_package\(rtrcu ([0-9.]+)' "$minor"
[ -e "packaging/debian/librtrcu$minor.install" ] || {
    echo "packaging/debian: librtrcu$minor.install is missing" >&2
    status=1
}

newest=$(grep -m 1 '^## ' CHANGELOG.md)
[ "$newest" = "## Unreleased" ] || {
    [[ $newest =~ ^'## '$version' - '20[0-9]{2}-[01][0-9]-[0-3][0-9]$ ]] || {
        echo "CHANGELOG.md: expected '## $version - YEAR-MONTH-DAY', found '$newest'" >&2
        status=1
    }
    [ -s "packaging/abi/librtrcu-$version.abi" ] || {
        echo "packaging/abi: the release $version has no dump of its interface" >&2
        status=1
    }
}
[ $status -ne 0 ] || echo "version: $version everywhere, ${newest#\#\# }"
exit $status
