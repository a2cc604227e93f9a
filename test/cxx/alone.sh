#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: alone.sh SOURCE COMPILER - each C++ header compiles alone and included twice, in each standard that it
# supports, without a warning.  Checks also the macros that it defines, and <urcu.h> before and after it.
set -euo pipefail
source=$1
compiler=$2
include=$source/cxx/include
strict=(-Wall -Wextra -Wconversion -Wshadow -pedantic -Werror)
folders=("-I$source/include" "-I$include" "-I$source/cxx/std")
bad=0
compile() { # standard, more flags...; the source is standard input
    local standard=$1
    shift
    "$compiler" -xc++ "-std=$standard" "${strict[@]}" "${folders[@]}" -fsyntax-only "$@" -
}
complain() {
    echo "$1 by $compiler" >&2
    bad=1
}

headers=(rcu rtrcu/rcu.hpp rtrcu/cell.hpp rtrcu/guard.hpp rtrcu/loop.hpp rtrcu/domain.hpp rtrcu/hash_map.hpp
    rtrcu/detail/library.hpp)
for standard in c++17 c++20; do
    for header in "${headers[@]}" $([ $standard = c++17 ] || echo rtrcu/coroutine.hpp); do
        for debug in -URTRCU_DEBUG -DRTRCU_DEBUG; do
            printf '#include <%s>\n#include <%s>\nint main() {}\n' "$header" "$header" | compile "$standard" "$debug" ||
                complain "<$header> has warnings in $standard $debug"
        done
    done
done

# Macros: only names that begin with RTRCU_ or rtrcu_, besides those of the standard headers that it includes.
for header in "${headers[@]}" rtrcu/coroutine.hpp; do
    standard_headers=$(cat "$include"/rtrcu/{,detail/}*.hpp "$source"/include/rtrcu/{,detail/}*.h \
        "$source"/cxx/std/rcu |
        sed -n 's/^ *#include <\([a-z_]*\(\.h\)\{0,1\}\)>$/#include <\1>/p' | sort -u)
    macros() {
        "$compiler" -xc++ -std=c++20 "${folders[@]}" -E -dM - | awk '{sub(/\(.*/, "", $2); print $2}' | sort -u
    }
    leaked=$(comm -13 <(macros <<<"$standard_headers") <(macros <<<"#include <$header>") |
        grep -vE '^(RTRCU_|rtrcu_)' || true)
    case $header in
    rcu) leaked=$(grep -vx '__cpp_lib_rcu' <<<"$leaked" || true) ;;
    # The macros of the C interface, which it includes, and those by which it refuses liburcu's.
    rtrcu/loop.hpp | rtrcu/hash_map.hpp)
        leaked=$(grep -vE '^(rcu_|RCU_|_URCU_CALL_RCU_H$|urcu_[a-z]+_register_thread$)' <<<"$leaked" || true)
        ;;
    rtrcu/domain.hpp)
        leaked=$(grep -vE '^(DEFINE_|init_srcu_|srcu_|rcu_|RCU_|_URCU_CALL_RCU_H$|urcu_[a-z]+_register_thread$)' \
            <<<"$leaked" || true)
        ;;
    esac
    [ -z "$leaked" ] || complain "<$header> leaves macros: $leaked"
done

# liburcu: its macro rcu_barrier is refused with a message; everything else works beside it.
if printf '#include <urcu.h>\n' | compile gnu++17 -w 2>/dev/null; then
    sentence='<urcu.h> defines rcu_barrier as a macro'
    for flavour in urcu.h urcu-bp.h urcu-qsbr.h; do
        for header in rtrcu/rcu.hpp rcu; do
            answer=$(printf '#include <%s>\n#include <%s>\n' $flavour $header | compile gnu++17 -w 2>&1) &&
                complain "<$header> after <$flavour> compiles"
            grep -qF "$sentence" <<<"$answer" || complain "<$header> after <$flavour>: no sentence"
            space=$([ $header = rcu ] && echo std || echo rtrcu)
            for call in "$space::rcu_barrier()" "$space::rcu_barrier($space::rcu_default_domain())"; do
                answer=$(printf '#include <%s>\n#include <%s>\nvoid f() { %s; }\n' $header $flavour "$call" |
                    compile gnu++17 -w 2>&1) && complain "$call compiles between <$header> and <$flavour>"
                grep -qF "$sentence" <<<"$answer" || complain "$call after <$flavour>: no sentence"
            done
            printf '#include <%s>\n#include <%s>\nvoid f() { %s::rcu_synchronize(); rcu_barrier(); }\n' \
                $header $flavour $space | compile gnu++17 -w || complain "<$flavour> after <$header> does not work"
        done
        for header in rtrcu/cell.hpp rtrcu/guard.hpp; do
            printf '#include <%s>\n#include <%s>\n' $header $flavour | compile gnu++17 -w ||
                complain "<$header> before <$flavour> does not compile"
            printf '#include <%s>\n#include <%s>\n' $flavour $header | compile gnu++17 -w ||
                complain "<$header> after <$flavour> does not compile"
        done
    done
else
    echo "no <urcu.h> here"
fi
exit $bad
