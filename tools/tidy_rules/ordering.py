# SPDX-License-Identifier: MIT OR Apache-2.0
"""Ordering tags: both halves in the source, a row in the ledger, a litmus test with a mutant; all agree.

A place carries a tag when a comment inside it, or directly above it, holds `[On]`.  In a public block the tags of the
line `Ordering:` only refer to an ordering; they make no place.
"""

import dataclasses
import os
import re

from tidy_rules import Finding
from tidy_rules.scan import scan

LEDGER = "docs/memory-ordering.md"
LITMUS = "test/litmus/"
GAPS = "test/litmus/gaps.txt"
TAG = re.compile(r"\[(O\d+)\]")
ROW = re.compile(r"^\|\s*[*`]*\[?(O\d+)\]?[*`]*\s*\|(.*)$")
CALLED = re.compile(r"\b([a-z_][a-z0-9_]*)\(\)")
LITMUS_NAME = re.compile(r"(?:^|/)(O\d+)(?!\d)[^/]*$")


@dataclasses.dataclass(frozen=True)
class Half:
    tag: str
    path: str
    line: int
    place: str  # the function, macro or declaration that carries it
    comment: str


def place_of(file, first, last):
    """What a comment on these lines belongs to: the function around it, or what stands directly below it."""
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
    """A public block without its lines `Ordering:` and what continues them."""
    return re.sub(r"^[ *]*Ordering:.*?(?=^[ *]*[A-Z]\w+:|\Z)", "", comment, flags=re.M | re.S)


def halves(tree):
    found = []
    for file in tree.under("src", "include"):
        if "[O" not in file.text:
            continue
        head = next((block[0] for block in file.comment_blocks if "SPDX" not in block[2]), 0)
        for first, last, comment in file.comment_blocks:
            # The head of a file may speak about tags; that is no place either.
            tags = set(TAG.findall(strip_references(comment))) if first != head else set()
            place = place_of(file, first, last) if tags else None
            found += [Half(tag, file.path, first, place, comment) for tag in sorted(tags) if place]
    return found


def litmus_tests(tree):
    """Tag -> paths of its tests."""
    tests = {}
    for file in tree.files:
        match = LITMUS_NAME.search(file.path)
        if file.path.startswith(LITMUS) and match:
            tests.setdefault(match.group(1), []).append(file.path)
    return tests


def has_mutant(tree, paths):
    return any("broken" in path for path in paths) or any("broken" in tree.by_path[path].text for path in paths)


def read_gaps(tree):
    """Tags that have no litmus test yet: `On: why`, one a line."""
    gaps = {}
    if tree.exists(GAPS):
        for number, line in enumerate(tree.by_path[GAPS].lines, 1):
            match = re.match(r"(O\d+):\s*\S", line)
            if match:
                gaps[match.group(1)] = number
    return gaps


def check_halves(tag, places):
    first = min(places, key=lambda half: (half.path, half.line))
    names = {half.place for half in places}
    if len(names) < 2:
        message = f"[{tag}] stands only at {first.place}; tag its other half too, each naming the other function"
        yield Finding(first.path, first.line, message)
    if not any("Forbidden:" in half.comment for half in places):
        message = f"[{tag}]: no half tells the two cases and the forbidden outcome; add them (`Forbidden: ...`)"
        yield Finding(first.path, first.line, message)


def check_row(tag, places, row):
    first = min(places, key=lambda half: (half.path, half.line))
    if row is None:
        yield Finding(first.path, first.line, f"[{tag}] has no row in {LEDGER}; add it")
        return
    number, text = row
    named = {half.place for half in places if re.search(rf"\b{re.escape(half.place)}\b", text)}
    if len(named) < 2:
        known = ", ".join(sorted({half.place for half in places}))
        message = f"the row of {tag} names fewer than two of the places that carry [{tag}]: {known}"
        yield Finding(LEDGER, number, message)


def check_names(tree, places):
    """Functions that the comments name must exist."""
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


def check_litmus(tree, tag, tests, gaps):
    where = (GAPS, gaps[tag]) if tag in gaps else (LEDGER, 1)
    if tag not in tests and tag not in gaps:
        message = f"[{tag}] has no test {LITMUS}{tag}*; write it with its mutant, or list it in {GAPS}"
        yield Finding(*where, message)
    elif tag in tests and tag in gaps:
        yield Finding(*where, f"{tag} has a litmus test now; delete this line")
    elif tag in tests and not has_mutant(tree, tests[tag]):
        yield Finding(tests[tag][0], 1, f"{tag} has no mutant; a test that cannot fail proves nothing")


def ordering(tree):
    found = halves(tree)
    tests, gaps = litmus_tests(tree), read_gaps(tree)
    ledger = tree.by_path.get(LEDGER)
    rows = {}
    for number, line in enumerate(ledger.lines if ledger else [], 1):
        match = ROW.match(line)
        if match:
            rows[match.group(1)] = (number, match.group(2))
    used = sorted({half.tag for half in found}, key=lambda tag: int(tag[1:]))
    for tag in used:
        places = [half for half in found if half.tag == tag]
        yield from check_halves(tag, places)
        yield from check_row(tag, places, rows.get(tag))
        yield from check_litmus(tree, tag, tests, gaps)
    yield from check_names(tree, found)
    for tag in sorted(set(rows) - set(used)):
        yield Finding(LEDGER, rows[tag][0], f"{tag} has a row, but nothing in src/ or include/ carries [{tag}]")
    for tag in sorted(set(tests) - set(used)):
        yield Finding(tests[tag][0], 1, f"{tag} has a litmus test, but nothing in src/ or include/ carries [{tag}]")
    if gaps and os.path.exists(os.path.join(tree.root, "tools", "tidy")):
        print(f"tidy: ordering: {len(gaps)} tags without a litmus test, allowed by {GAPS}: {' '.join(sorted(gaps))}")


RULES = {"ordering": ordering}
