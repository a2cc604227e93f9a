#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: try.sh SOURCE CMAKE PLATFORM - builds the library for another C library or processor, with the options of the
# oldest supported CMake, and runs a program on it, linked to the shared and to the static library.
# PLATFORM: musl, or a processor by qemu's name (riscv64, ppc64le, ppc64, s390x, ...).  Exit 77: its compiler is not
# installed.
set -euo pipefail
source=$1 cmake=$2 platform=$3
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

more=() runs=() options=(-DCMAKE_BUILD_TYPE=RelWithDebInfo)
if [ "$platform" = musl ]; then
    compiler=musl-gcc
    # The kernel's headers, without glibc's.
    mkdir "$work/kernel"
    ln -s /usr/include/linux /usr/include/asm-generic "$work/kernel"
    ln -s "/usr/include/$(uname -m)-linux-gnu/asm" "$work/kernel/asm"
    options+=("-DCMAKE_C_FLAGS=-idirafter $work/kernel")
else
    triplet=${platform/ppc64/powerpc64}-linux-gnu
    compiler=$triplet-gcc
    runs=("qemu-$platform" -L "/usr/$triplet")
    options+=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=$platform")
    command -v "${runs[0]}" >/dev/null || exit 77
fi
command -v "$compiler" >/dev/null || exit 77

env -u CFLAGS -u LDFLAGS "$cmake" -S "$source" -B "$work/build" "${options[@]}" "-DCMAKE_C_COMPILER=$compiler" \
    >"$work/log" 2>&1 && "$cmake" --build "$work/build" --target rtrcu rtrcu_static -j 2 >>"$work/log" 2>&1 || {
    cat "$work/log" >&2
    exit 1
}
if [ "$platform" = musl ]; then
    "$compiler" -c -o "$work/find_object.o" "$here/find_object.c"
    more+=("$work/find_object.o")
fi
flags=(-O2 -Wall -Werror "-I$source/include" "$here/program.c" ${more[@]+"${more[@]}"})
"$compiler" "${flags[@]}" -o "$work/shared" "-L$work/build" "-Wl,-rpath,$work/build" -lrtrcu -pthread
"$compiler" "${flags[@]}" -static -o "$work/static" "$work/build/librtrcu.a" -pthread 2>/dev/null
for form in shared static; do
    echo "$platform, $form: $(timeout 120 ${runs[@]+"${runs[@]}"} "$work/$form")"
done
