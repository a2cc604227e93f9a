#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: refused.sh SOURCE COMPILER - each case of refused/cases.cc fails to compile with the message that it names, and
# the file without a case compiles.
set -euo pipefail
source=$1
compiler=$2
cases=$source/test/cxx/refused/cases.cc
compile() {
    "$compiler" -std=c++20 -Wall -Wextra -Werror "-I$source/include" "-I$source/cxx/include" -fsyntax-only "$@" "$cases"
}

compile
bad=0
while read -r name says; do
    if answer=$(compile "-D$name" 2>&1); then
        echo "$name compiles by $compiler" >&2
        bad=1
    elif [ -n "$says" ] && ! grep -qF -- "$says" <<<"$answer"; then
        echo "$name: the message of $compiler does not contain \"$says\":" >&2
        head -5 <<<"$answer" >&2
        bad=1
    fi
done < <(sed -n 's/^#ifdef \(CASE_[A-Z_]*\)\( \/\/ says: \(.*\)\)\{0,1\}$/\1 \3/p' "$cases")
exit $bad
