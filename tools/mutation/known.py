# SPDX-License-Identifier: MIT OR Apache-2.0
"""Survivors that are explained: mutants whose behaviour is within the contract, with the reason, in a text file.

    src/gp/machine.c: comparison shifted
    -    for (uint32_t covered = 1; covered < leaves; covered *= READER_FANOUT)
    +    for (uint32_t covered = 1; covered <= leaves; covered *= READER_FANOUT)
    = why this changes nothing that is promised
"""

import difflib


def difference(text, mutant):
    """The changed lines: `-` the old ones, `+` the new ones."""
    lines = difflib.unified_diff(text.splitlines(), mutant.apply(text).splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def place(path):
    """Room and file, whatever folder of the room it lies in."""
    parts = path.split("/")
    return "/".join(parts[:2]), parts[-1]


def key(path, lines):
    return place(path), tuple(line[0] + line[1:].strip() for line in lines)


def read(path):
    """The reasons by key."""
    reasons, lines, where = {}, [], None
    if not path.exists():
        return reasons
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(("-", "+")):
            lines.append(line)
        elif line.startswith("="):
            reasons[key(where, lines)] = line[1:].strip()
            lines = []
        elif line.strip() and not line.startswith("#"):
            where, lines = line.split(":")[0], []
    return reasons
