#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that the texts in the guide's table of messages are texts that the library prints.

usage: messages.py SOURCE_DIR.  Exit 0: every piece of every message is in a string of src/ or include/.

"""
import pathlib
import re
import sys

STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
CONTINUED = re.compile(r'"\s*"')  # a literal that continues on the next line
BLANK = re.compile(r"…|\b[NT]\b|\"[^\"]*\"|%(?:ll|l)?[a-z]|%\.\*s")  # the parts that differ from message to message


def strings_of(root):
    text = []
    for folder in ("src", "include"):
        for path in sorted((root / folder).rglob("*.[ch]")):
            source = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
            joined = CONTINUED.sub("", source)
            text += [match.replace('\\"', '"') for match in STRING.findall(joined)]
    return [" ".join(BLANK.sub(" ", one).split()) for one in text]


def messages_of(guide):
    table = guide[guide.index("\n## Messages"):]
    for line in table.splitlines():
        if line.startswith("| `"):
            yield from re.findall(r"`([^`]+)`", line.split(" | ")[0])


def main(arguments):
    if len(arguments) != 2:
        sys.stderr.write(f"usage: {arguments[0]} SOURCE_DIR\n")
        return 2
    root = pathlib.Path(arguments[1])
    known = strings_of(root)
    wrong = 0
    messages = list(messages_of((root / "docs/guide.md").read_text(encoding="utf-8")))
    for message in messages:
        for piece in (" ".join(piece.split()) for piece in BLANK.split(message)):
            if len(piece) > 2 and not any(piece.strip(" ;:,()") in one for one in known):
                print(f"docs/guide.md: no message has the words: {piece}   (of: {message})")
                wrong += 1
    print(f"{len(messages)} messages, {wrong} texts that no message contains")
    return 1 if wrong or len(messages) < 10 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
