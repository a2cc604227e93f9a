# SPDX-License-Identifier: MIT OR Apache-2.0
"""The beginning and length of files: the licence line, the purpose, the largest number of lines, no notes to self."""

import re

from tidy_rules import Finding

SPDX = "SPDX-License-Identifier: MIT OR Apache-2.0"
CAP = 600

# Files that people write and read; data, recorded input and generated files need no head and have no limit.
CODE = {".c", ".h", ".cc", ".hh", ".cpp", ".hpp", ".py", ".sh", ".cmake", ".rs", ".map", ".in", ".lua", ".awk"}
PROSE = {".md"}
CODE_NAMES = {"CMakeLists.txt", "Makefile"}
COMMENT = re.compile(r'\s*(/[/*]|\*|#(?!\w)|--|""")')
NOTE = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def is_code(file):
    if file.extension in CODE or file.name in CODE_NAMES:
        return True
    return file.text.startswith("#!")


def is_prose(file):
    return file.extension in PROSE


def first_lines(file):
    """Returns a file's lines without the #! line, which must be the first."""
    return (file.lines[1:], 2) if file.text.startswith("#!") else (file.lines, 1)


def words(text):
    return re.findall(r"[A-Za-z][\w'-]*", text)


def spdx(tree):
    for file in tree.files:
        if is_code(file):
            lines, number = first_lines(file)
            if not lines or SPDX not in lines[0]:
                yield Finding(file.path, number, f"the first line is not the licence line; make it `{SPDX}`")


def purpose(tree):
    for file in tree.files:
        if is_prose(file):
            if not any(line.startswith("# ") or SPDX in line for line in file.lines[:2]):
                yield Finding(file.path, 1, "the first two lines contain no title; begin the page with `# TITLE`")
        elif is_code(file):
            lines, number = first_lines(file)
            after = [line for line in lines[:3] if SPDX not in line][:2]
            # A Python docstring, or a comment of any language; if there is code instead, the purpose is missing.
            said = [line for line in after if COMMENT.match(line) and len(words(line)) >= 3]
            continued = after and re.match(r'\s*(/\*+|""")\s*$', after[0]) and len(words(after[-1])) >= 3
            if not said and not continued:
                yield Finding(file.path, number + 1, "the purpose is missing below the licence line; add one sentence")


def length(tree):
    for file in tree.files:
        if is_code(file) or is_prose(file):
            count = file.text.count("\n")
            if count > CAP:
                yield Finding(file.path, CAP + 1, f"{count} lines, above the limit of {CAP}; split the file")


def notes(tree):
    for file in tree.files:
        if not is_code(file) or file.parts[0] == "tools" and "tidy_rules" in file.parts:
            continue
        for number, line in enumerate(file.lines, 1):
            match = NOTE.search(line)
            if match:
                yield Finding(file.path, number, f"{match.group()}: do the work, or write why it is not done")


RULES = {"spdx": spdx, "purpose": purpose, "file-length": length, "notes": notes}
