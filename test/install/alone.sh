#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: alone.sh SOURCE CMAKE - the library as a packager builds it: no compiler but C's, no option, any folder.
set -euo pipefail
source=$1
cmake=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$1" >&2
    exit 1
}

# From two folders of other depth, with debug information, the same bytes.
for folder in one another/deeper; do
    mkdir -p "$work/$folder"
    cp -r "$source"/{CMakeLists.txt,LICENSE-MIT,LICENSE-APACHE,cmake,cxx,include,liburcu,src} "$work/$folder"
    mkdir "$work/$folder/tools"
    cp -r "$source/tools/gdb" "$work/$folder/tools" # installed beside the library
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

# A packager's flags are the only ones that choose, and both kinds of them arrive.
(cd "$work/one" && CFLAGS=-O1\ -DPACKAGER LDFLAGS=-Wl,-z,now "$cmake" -S . -B flags -DCMAKE_BUILD_TYPE=None >log 2>&1)
! grep -q -- '-O2' "$work/one/flags/compile_commands.json" || fail "the project's -O2 stands behind CFLAGS"
grep -q -- '-O1 -DPACKAGER' "$work/one/flags/compile_commands.json" || fail "CFLAGS are not honoured"
grep -q -e '-Wl,-z,now' "$work/one/flags/CMakeCache.txt" || fail "LDFLAGS are not honoured"

# A folder of the libraries that is not below the prefix is named as it is.
(cd "$work/one" && "$cmake" -S . -B elsewhere -DCMAKE_INSTALL_LIBDIR="$work/libraries" >log 2>&1 &&
    "$cmake" --build elsewhere -j "$(nproc)" >>log 2>&1 && "$cmake" --install elsewhere --prefix "$work/usr" >>log 2>&1)
flags=$(PKG_CONFIG_PATH=$work/libraries/pkgconfig pkg-config --cflags --libs rtrcu)
[[ $flags == *"-I$work/usr/include"* && $flags == *"-L$work/libraries "* ]] || fail "pkg-config says $flags"

# Inside the build of a program, which knows it by the names of the installed package, and installs nothing of it.
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
[ ! -e "$work/parent_prefix" ] || fail "a program that has the library in its build installs it"
echo "alone: ok"
