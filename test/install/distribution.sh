#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: distribution.sh SOURCE CMAKE - the library with the flags that distributions build all of their packages with:
# link-time optimization, with machine code beside it for those who link without.  <sys/sdt.h> is not there.
set -euo pipefail
source=$1
cmake=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$1" >&2
    exit 1
}

mkdir -p "$work/include/sys"
echo '#error not every machine has this header' >"$work/include/sys/sdt.h"
export CFLAGS="-O2 -g -flto=auto -ffat-lto-objects -I$work/include" LDFLAGS="-flto=auto"
"$cmake" -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=None >"$work/log" 2>&1 &&
    "$cmake" --build "$work/build" --target rtrcu rtrcu_static >>"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}

# The static form is for programs of every compiler: machine code, and no compiler's own form of it.
archive=$work/build/librtrcu.a
readelf -sW "$archive" >"$work/symbols"
grep -q ' FUNC  *GLOBAL .* rtrcu_synchronize$' "$work/symbols" || fail "librtrcu.a has no machine code"
! grep -q ' FUNC  *GLOBAL .* turn_' "$work/symbols" || fail "librtrcu.a shows the names of its rooms"
readelf -SW "$archive" >"$work/sections"
! grep -qE '[.]gnu[.](debug)?lto_|[.]llvm[.]lto' "$work/sections" || fail "a compiler's own code is in librtrcu.a"
cc -fno-lto -Wall -Werror -o "$work/program" "$here/consumer/program.c" "-I$source/include" "$archive" -pthread
[ "$("$work/program")" = "freed 1" ] || fail "a program with librtrcu.a does not free"

readelf -n "$work/build/librtrcu.so" >"$work/notes"
[ "$(grep -c 'Provider: rtrcu' "$work/notes")" -ge 14 ] || fail "librtrcu.so lacks probes"

# The shared form was optimized as a whole, and a callback that throws is unwound all the same.
c++ -std=c++20 -O2 -flto=auto -Wall -Werror -o "$work/unwound" "$here/../api/unwound/barrier.cc" "-I$source/include" \
    "-L$work/build" "-Wl,-rpath,$work/build" -lrtrcu -pthread
"$work/unwound" || fail "callbacks that throw: $?"
echo "distribution: ok"
