#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Each library's names, types and sizes against the list of its own, and against the installed liburcu's.

usage: abi.py LIST FOLDER [STOCK FOLDER]
A list has a line a symbol, `KIND SIZE NAME`; functions have no size.  What upstream exports since 0.14 is marked `+`:
an older installed library need not have it.
"""

import pathlib
import subprocess
import sys

LIBRARIES = ["urcu", "urcu-memb", "urcu-mb", "urcu-qsbr", "urcu-bp"]
# Of programs' own data these two depend on the machine's C library.
FROM_LIBC = {"__urcu_compat_futex_lock", "__urcu_compat_futex_cond"}


def symbols(path):
    """(kind, size, name) of what it exports."""
    run = subprocess.run(["readelf", "-W", "--dyn-syms", path], check=True, capture_output=True, text=True)
    found = set()
    for line in run.stdout.splitlines():
        words = line.split()
        if len(words) != 8 or words[4] not in ("GLOBAL", "WEAK") or words[6] == "UND":
            continue
        size = "-" if words[3] == "FUNC" or words[7] in FROM_LIBC else words[2]
        found.add((words[3], size, words[7]))
    return found


def read_list(path, library):
    """The symbols of one library: all, and those that an older one lacks."""
    every, since = set(), set()
    section = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]").split()
        elif line.strip() and not line.startswith("#") and library in section:
            words = line.lstrip("+").split()
            every.add(tuple(words))
            if line.startswith("+"):
                since.add(tuple(words))
    return every, since


def differences(what, wanted, found):
    for symbol in sorted(wanted - found):
        yield f"{what}: missing {' '.join(symbol)}"
    for symbol in sorted(found - wanted):
        yield f"{what}: not in the list: {' '.join(symbol)}"


def main():
    lists, ours = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    stock = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
    problems = []
    for library in LIBRARIES:
        every, since = read_list(lists, library)
        name = f"lib{library}.so.8"
        problems += differences(name, every, symbols(ours / name))
        if stock and (stock / name).exists():
            installed = symbols(stock / name)
            problems += differences(f"installed {name}", every - (since - installed), installed)
        print(f"{name}: {len(every)} symbols")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
