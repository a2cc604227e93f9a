#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: used.sh SOURCE COMPILER LIBRARY - builds used.cc in each standard, without a warning, with and without the
# checks of the headers; it runs with the shared library.  With the checks also unoptimized, so that no compiler keeps a
# value in a register that a fiber finds changed.
set -euo pipefail
source=$1
compiler=$2
library=$3
strict=(-Wall -Wextra -Wconversion -Wshadow -pedantic -Werror)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for standard in c++17 c++20; do
    for debug in "-O1 -URTRCU_DEBUG" "-O1 -DRTRCU_DEBUG" "-O0 -DRTRCU_DEBUG"; do
        # shellcheck disable=SC2086
        "$compiler" "-std=$standard" $debug "${strict[@]}" "-I$source/include" "-I$source/cxx/include" \
            "$source/test/cxx/used.cc" "$library" "-Wl,-rpath,$(dirname "$library")" -pthread -o "$folder/used"
        "$folder/used"
        if [[ $debug == *-DRTRCU_DEBUG ]] && ("$folder/used" stray) 2> "$folder/said"; then
            echo "$debug, $standard: a snapshot that strays was not seen" >&2
            exit 1
        fi
    done
done
