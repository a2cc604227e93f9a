#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: symbols.sh LIBRARY - checks that glibc 2.28 has each symbol that the shared library needs of glibc.
# A library that is built with a newer glibc names the newest version of a symbol. glibc keeps the older versions beside
# it, and the oldest one tells since when the symbol exists.  A weak symbol may be missing.  The headers of glibc 2.38
# and later rename strtol() and its siblings to __isoc23_*, so a library built there needs that glibc.
set -euo pipefail
library=$1
newest=2.28
libc=$(ldd "$library" | awk '$1 == "libc.so.6" {print $3}')
[ -n "$libc" ] || exit 77 # another C library

since() { # name: the oldest version of glibc that has it
    objdump -T "$libc" | awk -v name="$1" '$NF == name {print $(NF - 1)}' | tr -d '()' |
        sed -n 's/^GLIBC_\([0-9.]*\)$/\1/p' | sort -V | head -n 1
}
late=0 looked=0
while read -r name; do
    [[ $name != __isoc23_* ]] || continue
    version=$(since "$name")
    [ -n "$version" ] || continue # of another library
    looked=$((looked + 1))
    if [ "$(printf '%s\n' "$newest" "$version" | sort -V | tail -n 1)" != "$newest" ]; then
        echo "librtrcu.so needs $name, which glibc has since $version only; $newest is promised" >&2
        late=1
    fi
done < <(objdump -T "$library" | awk '/\*UND\*/ && !/ w / {print $NF}')
[ "$looked" -gt 20 ] || {
    echo "only $looked symbols of glibc were found: this test does not look at the right names" >&2
    exit 1
}
exit $late
