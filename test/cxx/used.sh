#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: used.sh SOURCE COMPILER LIBRARY - used.cc as a program of each standard, without a warning, with and without
# the checks of the headers; it runs with the shared library.
set -euo pipefail
source=$1
compiler=$2
library=$3
strict=(-Wall -Wextra -Wconversion -Wshadow -pedantic -Werror)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for standard in c++17 c++20; do
    for debug in -URTRCU_DEBUG -DRTRCU_DEBUG; do
        "$compiler" "-std=$standard" -O1 "${strict[@]}" "-I$source/include" "-I$source/cxx/include" "$debug" \
            "$source/test/cxx/used.cc" "$library" "-Wl,-rpath,$(dirname "$library")" -pthread -o "$folder/used"
        "$folder/used"
    done
done
