#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: refused.sh SOURCE - on 32-bit processors, on other systems and with old C++, a compiler's first error names the
# requirement.
set -euo pipefail
source=$1
while IFS='|' read -r header options expected; do
    read -ra words <<<"$options"
    echo "#include <rtrcu/$header>" >"${TMPDIR:-/tmp}/rtrcu-refused.$$.cc"
    errors=$(LC_ALL=C c++ "${words[@]}" "-I$source/include" "-I$source/cxx/include" -fsyntax-only \
        "${TMPDIR:-/tmp}/rtrcu-refused.$$.cc" 2>&1 || true)
    rm "${TMPDIR:-/tmp}/rtrcu-refused.$$.cc"
    error=$(grep -m 1 ' error: ' <<<"$errors") || true
    [[ $error == *"$expected"* ]] || {
        echo "<rtrcu/$header> with $options: the first error is: $error" >&2
        exit 1
    }
done <<'END'
rcu.h|-U__LP64__|rtrcu needs a 64-bit processor
rcu.h|-U__linux__|rtrcu needs Linux
cell.hpp|-std=c++14|need C++17 or later
guard.hpp|-std=c++11|need C++17 or later
domain.hpp|-std=c++14|need C++17 or later
coroutine.hpp|-std=c++17|needs the coroutines of C++20
END
