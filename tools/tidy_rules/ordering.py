# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ordering tags: places in the source, rows of docs/memory-ordering.md, and shapes or mutants must agree.

A place carries a tag when a comment inside it, or directly above it, holds `[On]`.  In a public block the tags of the
line `Ordering:` only refer to an ordering; they make no place.
"""

import dataclasses
import re

from tidy_rules import Finding
from tidy_rules.scan import scan

LEDGER = "docs/memory-ordering.md"
SHAPES = "test/litmus/arm/shapes.txt"
MUTANTS = "test/explore/mutants/"
TAG = re.compile(r"\[(O\d+)\]")
ROW = re.compile(r"^\|\s*[*`]*\[?(O\d+)\]?[*`]*\s*\|(.*)$")
CALLED = re.compile(r"\b([a-z_][a-z0-9_]*)\(\)")
SHAPE = re.compile(r"shape (O\d+) ")
MUTANT = re.compile(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`")


@dataclasses.dataclass(frozen=True)
class Half:
    tag: str
    path: str
    line: int
    place: str  # the function, macro or declaration that carries it
    comment: str


def place_of(file, first, last):
    """Returns the function that a comment on these lines is in, or the declaration directly below it."""
    for function in scan(file).functions:
        if function.first <= first <= function.last:
            return function.name
    here = file.code.split("\n")[last - 1].strip()
    if here:
        return f"{file.path}:{last}"
    for function in scan(file).functions:
        if last < function.first <= last + 2:
            return function.name
    below = file.lines[last] if last < len(file.lines) else ""
    macro = re.match(r"\s*#\s*define\s+(\w+)", below)
    if macro:
        return macro.group(1)
    return f"{file.path}:{last + 1}" if below.strip() else None


def strip_references(comment):
    """Returns a public block without its `Ordering:` lines and their continuations."""
    return re.sub(r"^[ *]*Ordering:.*?(?=^[ *]*[A-Z]\w+:|\Z)", "", comment, flags=re.M | re.S)


def halves(tree):
    found = []
    for file in tree.under("src", "include"):
        if "[O" not in file.text:
            continue
        head = next((block[0] for block in file.comment_blocks if "SPDX" not in block[2]), 0)
        for first, last, comment in file.comment_blocks:
            # The head of a file may mention tags, but is not a place of a tag.
            tags = set(TAG.findall(strip_references(comment))) if first != head else set()
            place = place_of(file, first, last) if tags else None
            found += [Half(tag, file.path, first, place, comment) for tag in sorted(tags) if place]
    return found


def shapes_of(tree):
    """Returns, for each tag, the line of its first shape."""
    shapes = {}
    for number, line in enumerate(tree.by_path[SHAPES].lines if tree.exists(SHAPES) else [], 1):
        match = SHAPE.match(line)
        if match:
            shapes.setdefault(match.group(1), number)
    return shapes


def rows_of(tree):
    """Returns, for each tag, its rows of the ledger: line number and text."""
    rows = {}
    for number, line in enumerate(tree.by_path[LEDGER].lines if tree.exists(LEDGER) else [], 1):
        match = ROW.match(line)
        if match:
            rows.setdefault(match.group(1), []).append((number, match.group(2)))
    return rows


def check_halves(tag, places):
    first = min(places, key=lambda half: (half.path, half.line))
    names = {half.place for half in places}
    if len(names) < 2:
        message = f"only {first.place} has [{tag}]; tag the other half too, each half naming the other function"
        yield Finding(first.path, first.line, message)
    if not any("Forbidden:" in half.comment for half in places):
        message = f"[{tag}]: no half describes the two orders and the forbidden outcome; add them (`Forbidden: ...`)"
        yield Finding(first.path, first.line, message)


def check_rows(tag, places, rows):
    first = min(places, key=lambda half: (half.path, half.line))
    if not rows:
        yield Finding(first.path, first.line, f"[{tag}] has no row in {LEDGER}; add it")
        return
    text = "".join(text for _, text in rows)
    named = {half.place for half in places if re.search(rf"\b{re.escape(half.place)}\b", text)}
    if len(named) < 2:
        known = ", ".join(sorted({half.place for half in places}))
        message = f"the row of {tag} names fewer than two of the places that have [{tag}]: {known}"
        yield Finding(LEDGER, rows[-1][0], message)


def mutants_named(rows):
    """Returns the mutants of the explorer that these rows name, each with its line."""
    return [(number, name) for number, text in rows for name in MUTANT.findall(text)]


def check_names(tree, places):
    """Checks that functions which the comments name exist."""
    defined = set()
    for file in tree.under("src", "include"):
        defined.update(function.name for function in scan(file).functions)
        defined.update(re.findall(r"\b(\w+)\s*\(", file.plain_code))
        defined.update(re.findall(r"#\s*define\s+(\w+)\(", file.code))
    for half in places:
        for name in CALLED.findall(half.comment):
            if name not in defined:
                message = f"[{half.tag}] names {name}(), which does not exist; name the function of the other half"
                yield Finding(half.path, half.line, message)


def ordering(tree):
    found = halves(tree)
    shapes, rows = shapes_of(tree), rows_of(tree)
    used = sorted({half.tag for half in found}, key=lambda tag: int(tag[1:]))
    for tag in used:
        places = [half for half in found if half.tag == tag]
        first = min(places, key=lambda half: (half.path, half.line))
        yield from check_halves(tag, places)
        yield from check_rows(tag, places, rows.get(tag, []))
        if tag not in shapes and not mutants_named(rows.get(tag, [])):
            message = f"[{tag}] has no shape in {SHAPES}, and its row names no mutant of {MUTANTS}; add either"
            yield Finding(first.path, first.line, message)
    yield from check_names(tree, found)
    for tag, of_tag in sorted(rows.items()):
        if tag not in used:
            yield Finding(LEDGER, of_tag[0][0], f"{tag} has a row, but no comment in src/ or include/ has [{tag}]")
        for number, name in mutants_named(of_tag):
            if not tree.exists(f"{MUTANTS}{name}.mutant"):
                yield Finding(LEDGER, number, f"there is no {MUTANTS}{name}.mutant")
    for tag in sorted(set(shapes) - set(used)):
        yield Finding(SHAPES, shapes[tag], f"{tag} has a shape, but no comment in src/ or include/ has [{tag}]")


RULES = {"ordering": ordering}
