#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares each library's names, types and sizes with its list, and with those of the installed liburcu.

usage: abi.py LIST FOLDER [STOCK FOLDER...]

A list has one line per symbol, `KIND SIZE NAME`; functions have no size. symbols.txt explains its marks.  Libraries of
liburcu 0.13 and of 0.15 can be compared: each must have all symbols of its generation in the list, and no others.
"""

import pathlib
import subprocess
import sys

LIBRARIES = ["urcu", "urcu-memb", "urcu-mb", "urcu-qsbr", "urcu-bp"]
# In programs' own data, these two depend on the machine's C library.
FROM_LIBC = {"__urcu_compat_futex_lock", "__urcu_compat_futex_cond"}
OLD, NEW, OURS = "0.13", "0.15", "this library"


def symbols(path):
    """(kind, size, name) of each exported symbol."""
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
    """The symbols of one library, by generation."""
    lists = {OLD: set(), NEW: set(), OURS: set()}
    section = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]").split()
        elif line.strip() and not line.startswith("#") and library in section:
            kind, sizes, name = line.lstrip("+*").split()
            old, new = sizes.split("/")[0], sizes.split("/")[-1]
            lists[OURS].add((kind, old, name))
            if line[0] not in "+*":
                lists[OLD].add((kind, old, name))
            if line[0] != "*":
                lists[NEW].add((kind, new, name))
    return lists


def generation(found):
    """Recognized by symbols that 0.15 has and 0.13 lacks."""
    return NEW if any(name.endswith("_start_poll_synchronize_rcu") for _, _, name in found) else OLD


def differences(what, wanted, found):
    for symbol in sorted(wanted - found):
        yield f"{what}: missing {' '.join(symbol)}"
    for symbol in sorted(found - wanted):
        yield f"{what}: not in the list: {' '.join(symbol)}"


def main():
    path, ours = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    problems = []
    for library in LIBRARIES:
        lists = read_list(path, library)
        name = f"lib{library}.so.8"
        problems += differences(name, lists[OURS], symbols(ours / name))
        for folder in sys.argv[3:]:
            stock = pathlib.Path(folder) / name
            if stock.exists():
                found = symbols(stock)
                problems += differences(f"{stock}, {generation(found)}", lists[generation(found)], found)
        print(f"{name}: {len(lists[OURS])} symbols")
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
