#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Apply the edits of a .twin or .edit file: apply.py SPEC ROOT OUTPUT writes the changed copies below OUTPUT.

The file names a source and, as often as needed, a text that stands in it exactly once and its replacement:

    file: src/gp/machine.c
    <<<<
    the text
    ====
    the replacement
    >>>>

Lines outside, but for `file:`, are for whoever reads the file.  With --names it only prints the names of the sources.
"""

import os
import re
import sys

EDIT = re.compile(r"^<<<<\n(.*?)^====\n(.*?)^>>>>$", re.M | re.S)


def refuse(message):
    print(f"apply.py: {message}", file=sys.stderr)
    sys.exit(2)


def edits_of(spec):
    """(source, text, replacement) for each edit."""
    with open(spec, encoding="utf-8") as file:
        text = file.read()
    marks = [(m.start(), m.group(1)) for m in re.finditer(r"^file:\s*(\S+)$", text, re.M)]
    found = []
    for match in EDIT.finditer(text):
        before = [name for start, name in marks if start < match.start()]
        if not before:
            refuse(f"{spec}: an edit stands before any `file:` line; name the source first")
        found.append((before[-1], match.group(1), match.group(2)))
    if not found:
        refuse(f"{spec}: no edit; write <<<<, the text, ====, the replacement, >>>>")
    return found


def main(arguments):
    if len(arguments) == 2 and arguments[0] == "--names":
        print(";".join(sorted({edit[0] for edit in edits_of(arguments[1])})), end="")
        return
    if len(arguments) != 3:
        refuse("usage: apply.py SPEC ROOT OUTPUT, or apply.py --names SPEC")
    spec, root, output = arguments
    sources = {}
    for name, text, replacement in edits_of(spec):
        if name not in sources:
            with open(os.path.join(root, name), encoding="utf-8") as file:
                sources[name] = file.read()
        count = sources[name].count(text)
        if count != 1:
            refuse(f"{spec}: this text stands {count} times in {name}, not once; adapt the edit:\n{text}")
        sources[name] = sources[name].replace(text, replacement)
    for name, text in sources.items():
        path = os.path.join(output, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
