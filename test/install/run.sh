#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: run.sh BUILD_TREE CMAKE - installs to a temporary prefix, then builds and runs programs that know only the
# prefix.
set -euo pipefail
tree=$1
cmake=$2
here=$(cd "$(dirname "$0")" && pwd)
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT

"$cmake" --install "$tree" --prefix "$prefix/usr" >"$prefix/install.log"

# Everything below must come from the prefix: the programs are built outside the source tree.
cp -r "$here/consumer" "$prefix/src"
cd "$prefix"
export PKG_CONFIG_PATH=$prefix/usr/lib/pkgconfig
libraries=$prefix/usr/lib

licences=$prefix/usr/share/doc/rtrcu
[ -s "$licences/LICENSE-MIT" ] && [ -s "$licences/LICENSE-APACHE" ] || {
    echo "the licences are not installed" >&2
    exit 1
}
# The program and its manual page are installed together.
[ -e "$prefix/usr/bin/rtrcu" ] && program=1 || program=0
[ -e "$prefix/usr/share/man/man1/rtrcu.1" ] && page=1 || page=0
[ $program -eq $page ] || {
    echo "the program without its page, or the page without the program" >&2
    exit 1
}
minor=$(sed -n 's/^project(rtrcu VERSION \([0-9]*\.[0-9]*\).*/\1/p' "$here/../../CMakeLists.txt")
for name in librtrcu.so "librtrcu.so.$minor" librtrcu.a; do
    [ -e "$libraries/$name" ] || {
        echo "$name is not installed" >&2
        exit 1
    }
done
readelf -d "$libraries/librtrcu.so" | grep -q "SONAME.*\[librtrcu\.so\.$minor\]"
# Everything exported is named rtrcu_*, or is called out of line by <urcu/rculist.h>, and has a version: nothing else
# may become part of the interface by accident.
ours='(rtrcu_[a-z0-9_]+|rcu_(dereference|(set|xchg|cmpxchg)_pointer)_sym|rcu_dereference_sym2)'
foreign=$(nm -D --defined-only "$libraries/librtrcu.so" | awk -v ours="^$ours@@" '$2 != "A" && $3 !~ ours {print $3}')
[ -z "$foreign" ] || {
    echo "exported, but not rtrcu_* with a version: $foreign" >&2
    exit 1
}

# The linker ignores names of the version script that nothing defines; programs would miss them.
exported=$(nm -D --defined-only "$libraries/librtrcu.so" | awk '{print $3}' | sed 's/@.*//' | sort)
promised=$(grep -oE "\b$ours;" "$here/../../src/api/rtrcu.map" | tr -d ';' | sort)
missing=$(comm -13 <(echo "$exported") <(echo "$promised"))
[ -z "$missing" ] || {
    echo "named by src/api/rtrcu.map, but not exported: $missing" >&2
    exit 1
}

# The static library has the same global names and no other, so programs may choose any other name for their functions.
global=$(nm --defined-only --extern-only "$libraries/librtrcu.a" | awk 'NF == 3 {print $3}' | sort)
[ "$global" = "$promised" ] || {
    echo "global in librtrcu.a, or in src/api/rtrcu.map, but not in both:" >&2
    comm -3 <(echo "$global") <(echo "$promised") >&2
    exit 1
}

# Each function of the interface has a manual page by its own name.
families='rcu|synchronize|get_state|start_poll|poll_state|cond_synchronize|h?list'
families+='|rtrcu_config|rtrcu_set|rtrcu_hash|rtrcu_lpm'
for header in rcu.h task.h list.h config.h table.h lpm.h; do
    sed 's,/[*].*,,' "$prefix/usr/include/rtrcu/$header" |
        sed -nE "s/^(static inline )?[a-z_ ]*[ *](($families)_[a-z0-9_]*)\(.*/\2/p" |
        grep -vE '^(h?list_|INIT).*[^u]$|_(sized|func|t)$|^rtrcu_(set_deadline|hash_bucket|lpm_step)$' || true
done | sort -u >functions
[ "$(wc -l <functions)" -gt 50 ] || {
    echo "only $(wc -l <functions) functions were found in the headers" >&2
    exit 1
}
while read -r function; do
    [ -e "$prefix/usr/share/man/man3/$function.3" ] || {
        echo "$function has no manual page; name it in the SYNOPSIS of one in docs/man" >&2
        exit 1
    }
done <functions

check() { # name, command...
    local name=$1
    shift
    local answer
    answer=$("$@")
    [ "$answer" = "freed 1" ] || {
        echo "$name: printed '$answer', expected 'freed 1'" >&2
        exit 1
    }
    echo "$name: ok"
}

read -ra flags <<<"$(pkg-config --cflags --libs rtrcu)"
cc -Wall -Werror -o c_shared src/program.c "${flags[@]}"
c++ -std=c++20 -Wall -Werror -o cxx_shared src/program.cc "${flags[@]}"
cc -Wall -Werror -o c_static src/program.c $(pkg-config --cflags rtrcu) "$libraries/librtrcu.a" -pthread
check "pkg-config, C, shared" env LD_LIBRARY_PATH="$libraries" ./c_shared
check "pkg-config, C++, shared" env LD_LIBRARY_PATH="$libraries" ./cxx_shared
check "pkg-config, C, static" ./c_static

# An installed tree may be moved.
mv usr moved
read -ra moved <<<"$(PKG_CONFIG_PATH=$prefix/moved/lib/pkgconfig pkg-config --cflags --libs rtrcu)"
cc -Wall -Werror -o c_moved src/program.c "${moved[@]}"
check "pkg-config, moved" env LD_LIBRARY_PATH="$prefix/moved/lib" ./c_moved
mv moved usr

if command -v meson >/dev/null; then
    meson setup meson src "-Dcmake_prefix_path=$prefix/usr" >meson.log && meson compile -C meson >>meson.log || {
        cat meson.log >&2
        exit 1
    }
    for program in by_pkgconfig by_cmake; do
        check "meson, $program" env LD_LIBRARY_PATH="$libraries" "./meson/$program"
    done
fi

# A program for liburcu, with this library's replacement headers: it runs on this library without any environment
# variable.
if pkg-config --exists liburcu; then
    read -ra flags <<<"$(pkg-config --cflags --libs rtrcu-liburcu)"
    cc -Wall -Werror -o for_liburcu src/for_liburcu.c "${flags[@]}" -lurcu-memb
    check "in liburcu's place" ./for_liburcu
    c++ -xc++ -Wall -Wextra -Werror -o for_liburcu src/for_liburcu.c "${flags[@]}" -lurcu-memb
    check "in liburcu's place, C++" ./for_liburcu
fi

"$cmake" -S src -B build -DCMAKE_PREFIX_PATH="$prefix/usr" >cmake.log
"$cmake" --build build >>cmake.log || {
    cat cmake.log >&2
    exit 1
}
for program in c_shared cxx_shared c_static; do
    check "find_package, $program" "./build/$program"
done

# Each installed header compiles alone, in both languages.
alone() { # compiler, option...: a file on standard input
    "$@" -Wall -Wextra -pedantic -Werror "-I$prefix/usr/include" -fsyntax-only -
}
(cd "$prefix/usr/include" && find rtrcu -name '*.h') | while read -r header; do
    printf '#include <%s>\nint unit;\n' "$header" | alone cc -xc -std=gnu11
    echo "#include <$header>" | alone c++ -xc++ -std=gnu++17
done
(cd "$prefix/usr/include" && find rtrcu -name '*.hpp') | while read -r header; do
    echo "#include <$header>" | alone c++ -xc++ -std=gnu++20
done
echo "#include <rcu>" | c++ -xc++ -std=gnu++17 -Wall -Wextra -Werror "-I$prefix/usr/include" \
    "-I$prefix/usr/include/rtrcu/std" -fsyntax-only -
echo "headers: ok"
