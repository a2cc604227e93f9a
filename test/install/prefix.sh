#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# usage: prefix.sh SOURCE - tests which PREFIX `make install` passes to CMake, and which files `make uninstall` removes.
# CMake and the build are replaced by scripts, so nothing is built.
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "$1" >&2
    exit 1
}
unset MAKEFLAGS MAKELEVEL DESTDIR PREFIX
tree="$work/the source"
mkdir -p "$tree/tools" "$tree/build/library" "$work/bin"
cp "$source/Makefile" "$tree"
cp "$source"/tools/{after-install,uninstall} "$tree/tools"
printf '#!/bin/sh\n' | tee "$tree/tools/setup" "$tree/tools/build" >/dev/null
cat >"$work/bin/cmake" <<END
#!/bin/sh
printf '%s\n' "\$@" >"$work/arguments"
[ "\$1" = --install ] || exit 0
for prefix; do :; done # the last argument
mkdir -p "\$2" "\$prefix/lib/rtrcu"
touch "\$prefix/lib/rtrcu/file"
printf %s "\$prefix/lib/rtrcu/file" >"\$2/install_manifest.txt"
END
chmod +x "$tree"/tools/* "$work/bin/cmake"
export PATH="$work/bin:$PATH"

installs_under() { # PREFIX, path that CMake must get
    for target in install install-tools; do
        make -s -C "$tree" "$target" "PREFIX=$1" >"$work/output"
        [ "$(tail -1 "$work/arguments")" = "$2" ] ||
            fail "$target PREFIX='$1': CMake got $(tr '\n' ' ' <"$work/arguments")"
    done
}
installs_under "$work/a prefix/" "$work/a prefix"
installs_under "$work/absent/../opt" "$work/opt"
installs_under relative "$tree/relative" # a source in a folder with a space

# `make install` prints an export line to copy; in it, a prefix with a space is one word.
make -s -C "$tree" install "PREFIX=$work/a prefix" >"$work/output"
(eval "$(grep export "$work/output")" && [ "$LD_LIBRARY_PATH" = "$work/a prefix/lib" ]) || fail "$(cat "$work/output")"

# Uninstalling removes the files of all installations, not only of the last one, but no files of another prefix.
mkdir -p "$work/root$work/a prefix/lib"
touch "$work/root$work/a prefix/lib/file"
printf '%s\n' "$work/root$work/a prefix/lib/file" >>"$tree/build/installed"
for prefix in "a prefix" opt; do
    [ -e "$work/$prefix/lib/rtrcu/file" ] || fail "nothing is installed under $work/$prefix"
    make -s -C "$tree" uninstall "PREFIX=$work/$prefix" >"$work/output"
    [ ! -e "$work/$prefix/lib/rtrcu" ] || fail "uninstall leaves $work/$prefix/lib/rtrcu"
done
[ -e "$work/root$work/a prefix/lib/file" ] || fail "uninstall removes a file of another prefix"
echo "prefix: ok"
