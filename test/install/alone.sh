#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: alone.sh SOURCE CMAKE - builds the library as a packager does: only a C compiler, no option, any folder.
set -euo pipefail
source=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$1" >&2
    exit 1
}

# Builds in two folders of different depth, with debug information, give the same bytes.
for folder in one another/deeper; do
    mkdir -p "$work/$folder"
    cp -r "$source"/{CMakeLists.txt,LICENSE-MIT,LICENSE-APACHE,cmake,cxx,include,liburcu,src} "$work/$folder"
    mkdir "$work/$folder/tools"
    cp -r "$source"/tools/{gdb,rtrcu.supp} "$work/$folder/tools" # installed beside the library
    (cd "$work/$folder" && env -u CFLAGS -u LDFLAGS CXX=/no/compiler "$cmake" -S . -B out >log 2>&1 &&
        "$cmake" --build out -j "$(nproc)" >>log 2>&1) || {
        cat "$work/$folder/log" >&2
        exit 1
    }
done
for file in librtrcu.so librtrcu.a; do
    cmp "$work/one/out/$file" "$work/another/deeper/out/$file" || fail "$file differs by the folder that it is built in"
done
readelf -S "$work/one/out/librtrcu.so" | grep -q '[.]debug_info' ||
    fail "no debug information: the comparison says little"

commands=$work/one/out/compile_commands.json
grep -q -- '-O2 -g' "$commands" || fail "without a choice of the build type, the library is not optimized"
! grep -q -- '-Werror' "$commands" || fail "a new compiler's warning stops a packager's build"

# Only CFLAGS of the packager select the optimization, and both CFLAGS and LDFLAGS are used.
(cd "$work/one" && CFLAGS=-O1\ -DPACKAGER LDFLAGS=-Wl,-z,now "$cmake" -S . -B flags -DCMAKE_BUILD_TYPE=None >log 2>&1)
! grep -q -- '-O2' "$work/one/flags/compile_commands.json" || fail "the project's -O2 comes after CFLAGS"
grep -q -- '-O1 -DPACKAGER' "$work/one/flags/compile_commands.json" || fail "CFLAGS are not honoured"
grep -q -e '-Wl,-z,now' "$work/one/flags/CMakeCache.txt" || fail "LDFLAGS are not honoured"

# Thin link-time optimization, which only clang has.
if command -v clang-19 >/dev/null; then
    (cd "$work/one" && CC=clang-19 CFLAGS="-O2 -flto=thin -ffat-lto-objects" LDFLAGS=-flto=thin "$cmake" -S . -B thin \
        -DCMAKE_BUILD_TYPE=None >log 2>&1 && "$cmake" --build thin -j "$(nproc)" --target rtrcu_static >>log 2>&1) || {
        cat "$work/one/log" >&2
        exit 1
    }
    clang-19 -O2 -flto=thin -Wall -Werror -o "$work/thin" "$source/test/install/consumer/program.c" \
        "-I$source/include" "$work/one/thin/librtrcu.a" -pthread
    [ "$("$work/thin")" = "freed 1" ] || fail "a program with thin link-time optimization does not free"
fi

# A library folder outside the prefix is recorded by its own path.
(cd "$work/one" && "$cmake" -S . -B elsewhere -DCMAKE_INSTALL_LIBDIR="$work/libraries" >log 2>&1 &&
    "$cmake" --build elsewhere -j "$(nproc)" >>log 2>&1 && "$cmake" --install elsewhere --prefix "$work/usr" >>log 2>&1)
flags=$(PKG_CONFIG_PATH=$work/libraries/pkgconfig pkg-config --cflags --libs rtrcu)
[[ $flags == *"-I$work/usr/include"* && $flags == *"-L$work/libraries "* ]] || fail "pkg-config says $flags"

# The library as a part of a program's build: the program uses the target names of the installed package, and its
# installation installs nothing of the library.
(cd "$work" && "$cmake" -S "$source/test/install/parent" -B parent -DRTRCU_SOURCE="$work/one" \
    -DRTRCU_CONSUMER="$source/test/install/consumer" >parent.log 2>&1 &&
    "$cmake" --build parent -j "$(nproc)" >>parent.log 2>&1 &&
    "$cmake" --install parent --prefix "$work/parent_prefix" >>parent.log 2>&1) || {
    cat "$work/parent.log" >&2
    exit 1
}
for program in c_rtrcu c_static cxx; do
    "$work/parent/$program" || fail "a program that has the library in its build does not run"
done
(cd "$work" && "$cmake" -S "$source/test/install/parent" -B fetched -DRTRCU_SOURCE="$work/one" -DRTRCU_FETCHED=ON \
    -DRTRCU_CONSUMER="$source/test/install/consumer" >fetched.log 2>&1 &&
    "$cmake" --build fetched -j "$(nproc)" --target c_rtrcu >>fetched.log 2>&1 && fetched/c_rtrcu) || {
    cat "$work/fetched.log" >&2
    exit 1
}
[ ! -e "$work/parent_prefix" ] || fail "a program that has the library in its build installs it"
echo "alone: ok"
