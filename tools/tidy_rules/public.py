# SPDX-License-Identifier: MIT OR Apache-2.0
"""Public functions are documented.

A full block begins with `name - what` and has the lines Context, Blocks, Ordering and Returns in this order.  Small
siblings may share a comment of at most three lines, which reaches to the next blank line.  A function without a comment
is documented by the function that it wraps, or that wraps it.
"""

import dataclasses
import re

from tidy_rules import Finding
from tidy_rules.scan import ATTRIBUTE, function_name, scan

LABELS = ["Context", "Blocks", "Ordering", "Returns"]
FULL = re.compile(r"^/\*[\s*]*\w+(?:\(\))?\s+-\s", re.S)
SHORT_LINES = 3


@dataclasses.dataclass
class Entry:
    name: str
    line: int
    body: str


def public_headers(tree):
    for file in tree.c_files:
        if file.path.startswith("include/rtrcu/") and "detail" not in file.parts:
            yield file


def entries(file):
    """Returns the functions that @file declares or defines, from top to bottom."""
    found = [Entry(function.name, function.first, function.body) for function in scan(file).functions]
    for statement in scan(file).statements:
        plain = ATTRIBUTE.sub(" ", statement.text)
        is_function = "(" in plain and not re.match(r"(typedef|struct\s+\w+\s*\{)", plain)
        if is_function and not statement.in_class and not re.search(r"\(\s*\*", plain.split("(", 1)[1][:2]):
            found.append(Entry(function_name(plain), statement.line, ""))
    return sorted(found, key=lambda entry: entry.line)


def covering_comment(file, line):
    """Returns the comment directly above @line, or above the lines without a gap that contain it."""
    by_last = {block[1]: block for block in file.comment_blocks}
    number = line - 1
    while number >= 1 and file.lines[number - 1].strip():
        block = by_last.get(number)
        if block and not file.code.split("\n")[number - 1].strip():
            return block
        number -= 1
    return None


def missing_labels(comment):
    """Returns a message if lines of a full block are missing or in the wrong order, otherwise None."""
    places = [re.search(rf"^[ *]*{label}:", comment, re.M) for label in LABELS]
    absent = [label for label, place in zip(LABELS, places) if not place]
    if absent:
        return f"lacks {', '.join(absent)}"
    starts = [place.start() for place in places]
    return None if starts == sorted(starts) else f"has its lines in the wrong order; the order is {', '.join(LABELS)}"


def wrapped_names(headers):
    """Returns every name that a macro of the public headers uses."""
    names = set()
    for file in headers:
        for match in re.finditer(r"^[ \t]*#[ \t]*define\b((?:[^\n]*\\\n)*[^\n]*)", file.code, re.M):
            names.update(re.findall(r"\w+", match.group(1)))
    return names


def public_blocks(tree):
    headers = list(public_headers(tree))
    known = [(file, entry, covering_comment(file, entry.line)) for file in headers for entry in entries(file)]
    documented = {entry.name for _, entry, comment in known if comment}
    in_macros = wrapped_names(headers)
    called = {entry.name: set(re.findall(r"\w+", entry.body)) for _, entry, _ in known if entry.body}
    inspect_documented = set().union(*(called.get(name, set()) for name in documented)) if documented else set()
    reported = set()
    for file, entry, comment in known:
        if comment is None:
            wraps = called.get(entry.name, set()) & (documented - {entry.name})
            if not wraps and entry.name not in documented | inspect_documented | in_macros:
                message = f"{entry.name}() is public and has no comment; write its block ({', '.join(LABELS)})"
                yield Finding(file.path, entry.line, message)
            continue
        first, last, text = comment
        if (file.path, first) in reported:
            continue
        reported.add((file.path, first))
        if FULL.match(text):
            lacks = missing_labels(text)
            if lacks:
                yield Finding(file.path, first, f"the block of {entry.name}() {lacks}")
        elif last - first + 1 > SHORT_LINES:
            message = f"comment of {entry.name}() has over {SHORT_LINES} lines; write a block with {', '.join(LABELS)}"
            yield Finding(file.path, first, message)


RULES = {"public-blocks": public_blocks}
