#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: distribution.sh SOURCE CMAKE - builds the library with the flags that distributions use for all their packages:
# link-time optimization, with machine code as well for programs without it; hardening; every undefined name an
# error. <sys/sdt.h> is absent.
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
hardening="-fstack-protector-strong -fstack-clash-protection -D_FORTIFY_SOURCE=2"
warnings="-Wredundant-decls -Werror=redundant-decls"
export CFLAGS="-O2 -g -flto=auto -ffat-lto-objects $hardening $warnings -I$work/include"
export LDFLAGS="-flto=auto -Wl,-Bsymbolic-functions -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,--fatal-warnings"
"$cmake" -S "$source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DRTRCU_CHECKED=ON >"$work/log" 2>&1 &&
    "$cmake" --build "$work/build" --target rtrcu rtrcu_static rtrcu_checked >>"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}

# The static library is for programs of every compiler: machine code, without any compiler's intermediate form.
archive=$work/build/librtrcu.a
readelf -sW "$archive" >"$work/symbols"
grep -q ' FUNC  *GLOBAL .* rtrcu_synchronize$' "$work/symbols" || fail "librtrcu.a has no machine code"
! grep -q ' FUNC  *GLOBAL .* turn_' "$work/symbols" || fail "librtrcu.a shows the names of its rooms"
readelf -SW "$archive" >"$work/sections"
! grep -qE '[.]gnu[.](debug)?lto_|[.]llvm[.]lto' "$work/sections" || fail "a compiler's own code is in librtrcu.a"
cc -fno-lto -Wall -Werror -o "$work/program" "$here/consumer/program.c" "-I$source/include" "$archive" -pthread
[ "$("$work/program")" = "freed 1" ] || fail "a program with librtrcu.a does not free"
for kind in -static -static-pie; do
    cc -O2 $kind -Wall -Werror -Wl,--fatal-warnings -o "$work/program" "$here/consumer/program.c" "-I$source/include" \
        "$archive" -pthread
    [ "$("$work/program")" = "freed 1" ] || fail "a program linked with $kind does not free"
done
for header in "$source"/include/rtrcu/*.h; do
    cc -xc -std=gnu11 $warnings "-I$source/include" -fsyntax-only "$header"
done

readelf -n "$work/build/librtrcu.so" >"$work/notes"
[ "$(grep -c 'Provider: rtrcu' "$work/notes")" -ge 14 ] || fail "librtrcu.so lacks probes"

# The shared library was optimized as a whole, and a callback that throws is still unwound.
c++ -std=c++20 -O2 -flto=auto -Wall -Werror -o "$work/unwound" "$here/../api/unwound/barrier.cc" "-I$source/include" \
    "-L$work/build" "-Wl,-rpath,$work/build" -lrtrcu -pthread
"$work/unwound" || fail "callbacks that throw: $?"

# The checked library ends a program that misuses it, with a sentence; the program is not linked again.
misuse=("-I$source/include" "-L$work/build" -lrtrcu)
cc -Wall -Werror -shared -fPIC -o "$work/unloaded.so" "$here/checked/unloaded.c" "${misuse[@]}"
cc -Wall -Werror -o "$work/misuse" "$here/checked/misuse.c" "${misuse[@]}"
ends() { # misuse, sentence
    local status=0
    { LD_LIBRARY_PATH=$work/build/checked timeout 20 "$work/misuse" "$1" "$work/unloaded.so" >"$work/out" 2>&1 ||
        status=$?; } 2>/dev/null # the shell reports the abort
    [ $status -eq 134 ] && grep -q "$2" "$work/out" || {
        cat "$work/out" >&2
        fail "misuse '$1' with the checked library: exit $status; expected 134, and '$2'"
    }
}
ends wait "synchronize_rcu() inside a read-side critical section would wait for itself"
ends twice "is queued already and its callback has not begun"
ends unloaded "is no longer in memory: $work/unloaded.so"
for folder in build build/checked; do
    [ "$(LD_LIBRARY_PATH=$work/$folder "$work/misuse" none)" = "freed 1" ] || fail "correct use fails with $folder"
done
echo "distribution: ok"
