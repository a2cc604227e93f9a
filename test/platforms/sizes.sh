#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: sizes.sh LIBRARY PAGE - checks the sizes of the shared library that docs/platforms.md states.
set -euo pipefail
library=$1 page=$2
stated() { # the words after a number in the page
    tr '\n' ' ' <"$page" | grep -oE "[0-9,]+ $1" | head -n 1 | tr -dc 0-9
}
stripped=$(mktemp)
trap 'rm -f "$stripped"' EXIT
strip -o "$stripped" "$library"
bytes=$(stat -c %s "$stripped")
tls=$((16#$(readelf -lW "$library" | awk '$1 == "TLS" {print substr($6, 3)}')))
most=$(stated "bytes when stripped") has=$(stated "bytes of static thread-local storage")
[ "$bytes" -le "$most" ] || {
    echo "librtrcu.so has $bytes bytes when stripped; $page states at most $most" >&2
    exit 1
}
[ "$tls" -eq "$has" ] || {
    echo "librtrcu.so has $tls bytes of thread-local storage; $page states $has" >&2
    exit 1
}
echo "stripped $bytes bytes, thread-local $tls bytes"
