#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: rpm.sh SOURCE - rpmbuild makes the packages of packaging/rpm, rpmlint finds no error in them, and they hold the
# library.  The recipes for Alpine and Arch are read by the shells of their tools.  77: rpmbuild or rpmlint is missing.
set -euo pipefail
source=$1
command -v rpmbuild >/dev/null && command -v rpmlint >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$1" >&2
    exit 1
}

version=$(sed -n 's/^project(rtrcu VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
for recipe in alpine/APKBUILD arch/PKGBUILD; do
    (set -eu && . "$source/packaging/$recipe" && declare -F build check package >/dev/null) ||
        fail "packaging/$recipe cannot be read"
done

mkdir -p "$work/rtrcu-$version" "$work/SOURCES"
(cd "$source" && git ls-files -z | xargs -0 tar c) | tar x -C "$work/rtrcu-$version"
tar cz -C "$work" -f "$work/SOURCES/rtrcu-$version.tar.gz" "rtrcu-$version"
# --nodeps: on Debian, rpm does not know whether the packages that the build needs are installed.
rpmbuild -bb --nodeps --define "_topdir $work" --define "_smp_mflags -j2" "$source/packaging/rpm/rtrcu.spec" \
    >"$work/log" 2>&1 || {
    tail -40 "$work/log" >&2
    exit 1
}
cd "$work"/RPMS/*
rpmlint --file "$source/packaging/rpm/rpmlintrc" ./*.rpm "$source/packaging/rpm/rtrcu.spec" >"$work/lint" 2>&1 || true
grep -q "packages and 1 specfiles checked" "$work/lint" || { cat "$work/lint" >&2; fail "rpmlint has not run"; }
! grep ' E: ' "$work/lint" >&2 || fail "rpmlint finds errors"
holds() { # package, file
    rpm -qlp "$1-$version"-*.rpm 2>/dev/null | grep "$2" >"$work/found" || fail "the package $1 lacks $2"
}
holds rtrcu "/librtrcu.so.${version%.*}\$"
holds rtrcu-devel '/rtrcu/rcu.h$'
holds rtrcu-static '/librtrcu.a$'
holds rtrcu-liburcu '/liburcu-memb.so.8$'
holds rtrcu-liburcu-devel '/rtrcu-liburcu.pc$'
echo "packages: $(ls ./*.rpm | wc -l), rpmlint: $(tail -n 1 "$work/lint")"
