#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# The check that a compiler refuses certain misuses of the headers.
# usage: refused.sh INCLUDE COMMAND... - each case of refused/cases.c fails to compile with COMMAND, and the file
# without a case compiles without a pedantic warning.
set -euo pipefail
include=$1
shift
cases=$(cd "$(dirname "$0")" && pwd)/refused/cases.c
compile() {
    "$@" -Wall -Wextra -Wshadow -Werror "-I$include" -fsyntax-only "$cases"
}

compile "$@" -pedantic
compile "$@" -pedantic -DRTRCU_DEBUG
bad=0
for name in $(grep -oE 'CASE_[A-Z_]+' "$cases"); do
    for debug in U D; do
        if compile "$@" "-D$name" "-${debug}RTRCU_DEBUG" 2>/dev/null; then
            echo "$name (-${debug}RTRCU_DEBUG) compiles by $*" >&2
            bad=1
        fi
    done
done
exit $bad
