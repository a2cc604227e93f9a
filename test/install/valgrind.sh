#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: valgrind.sh SOURCE BUILD - valgrind finds no error and no leak in a program with the library, shared and
# static, with the file of suppressions that is installed.  77: valgrind is missing.
set -euo pipefail
source=$1 build=$2
command -v valgrind >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The program keeps its last node.  One copy frees the node before it ends; another copy loses it, and valgrind must
# report the leak.
shorter='s/UPDATES 2000/UPDATES 100/'
sed "$shorter; s/^    printf/    free(current);\n&/" "$source/test/platforms/program.c" >"$work/clean.c"
sed "$shorter; s/^    printf/    current = NULL;\n&/" "$source/test/platforms/program.c" >"$work/leaks.c"
look() { # program
    valgrind -q --leak-check=full --error-exitcode=9 "--suppressions=$source/tools/rtrcu.supp" "$1" >"$work/log" 2>&1
}
for program in clean leaks; do
    cc -g "-I$source/include" -o "$work/$program" "$work/$program.c" "-L$build" "-Wl,-rpath,$build" -lrtrcu -pthread
done
cc -g "-I$source/include" -o "$work/static" "$work/clean.c" "$build/librtrcu.a" -pthread
for program in clean static; do
    look "$work/$program" || {
        cat "$work/log" >&2
        exit 1
    }
done
! look "$work/leaks" || {
    echo "a node that the program has lost is not reported" >&2
    exit 1
}
# A program that shuts the library down needs no suppression, and has no block left, reachable or not.
sed "s/^    printf/    rtrcu_shutdown();\n&/" "$work/clean.c" >"$work/shut.c"
cc -g "-I$source/include" -o "$work/shut" "$work/shut.c" "-L$build" "-Wl,-rpath,$build" -lrtrcu -pthread
valgrind --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --error-exitcode=9 "$work/shut" \
    >"$work/log" 2>&1 && grep -q "All heap blocks were freed" "$work/log" || {
    cat "$work/log" >&2
    exit 1
}
echo "valgrind: ok"
