#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: run.sh BUILD_TREE CMAKE - install to a temporary prefix, then build and run programs that know only the prefix.
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
# The program and its page come together.
[ -e "$prefix/usr/bin/rtrcu" ] && program=1 || program=0
[ -e "$prefix/usr/share/man/man1/rtrcu.1" ] && page=1 || page=0
[ $program -eq $page ] || {
    echo "the program without its page, or the page without the program" >&2
    exit 1
}
for flag in $(pkg-config --cflags --libs rtrcu); do
    [[ $flag != *..* ]] || {
        echo "pkg-config gives $flag" >&2
        exit 1
    }
done
for name in librtrcu.so librtrcu.so.0.1 librtrcu.a; do
    [ -e "$libraries/$name" ] || {
        echo "$name is not installed" >&2
        exit 1
    }
done
readelf -d "$libraries/librtrcu.so" | grep -q 'SONAME.*\[librtrcu\.so\.0\.1\]'
# Everything exported is named rtrcu_*, or is what <urcu/rculist.h> calls out of line, and has a version: nothing else
# may become part of the interface by accident.
ours='(rtrcu_[a-z0-9_]+|rcu_(dereference|(set|xchg|cmpxchg)_pointer)_sym|rcu_dereference_sym2)'
foreign=$(nm -D --defined-only "$libraries/librtrcu.so" | awk -v ours="^$ours@@" '$2 != "A" && $3 !~ ours {print $3}')
[ -z "$foreign" ] || {
    echo "exported, but not rtrcu_* with a version: $foreign" >&2
    exit 1
}

# The linker ignores names of the version script that nothing defines; a program would find them missing.
exported=$(nm -D --defined-only "$libraries/librtrcu.so" | awk '{print $3}' | sed 's/@.*//' | sort)
promised=$(grep -oE "\b$ours;" "$here/../../src/api/rtrcu.map" | tr -d ';' | sort)
missing=$(comm -13 <(echo "$exported") <(echo "$promised"))
[ -z "$missing" ] || {
    echo "named by src/api/rtrcu.map, but not exported: $missing" >&2
    exit 1
}

# The same names, and no other, are global in the static form: a program may call its own functions as it likes.
global=$(nm --defined-only --extern-only "$libraries/librtrcu.a" | awk 'NF == 3 {print $3}' | sort)
[ "$global" = "$promised" ] || {
    echo "global in librtrcu.a, or in src/api/rtrcu.map, but not in both:" >&2
    comm -3 <(echo "$global") <(echo "$promised") >&2
    exit 1
}

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

# A program for liburcu, by this library's own headers: it runs on this library with nothing in its environment.
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

# Each installed header stands on its own, in both languages.
(cd "$prefix/usr/include" && find rtrcu -name '*.h') | while read -r header; do
    echo "#include <$header>" | cc -xc -std=gnu11 -Wall -Wextra -Werror -I"$prefix/usr/include" -fsyntax-only -
    echo "#include <$header>" | c++ -xc++ -std=gnu++17 -Wall -Wextra -Werror -I"$prefix/usr/include" -fsyntax-only -
done
(cd "$prefix/usr/include" && find rtrcu -name '*.hpp') | while read -r header; do
    echo "#include <$header>" | c++ -xc++ -std=gnu++20 -Wall -Wextra -Werror -I"$prefix/usr/include" -fsyntax-only -
done
echo "#include <rcu>" | c++ -xc++ -std=gnu++17 -Wall -Wextra -Werror "-I$prefix/usr/include" \
    "-I$prefix/usr/include/rtrcu/std" -fsyntax-only -
echo "headers: ok"
