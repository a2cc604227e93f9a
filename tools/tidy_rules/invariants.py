# SPDX-License-Identifier: MIT OR Apache-2.0
"""Invariants: an id like INV-GP3 is defined in a room's header and asserted by a check."""

import re

from tidy_rules import Finding

TOLD = re.compile(r"\b(INV-[A-Z]+\d+):")
NAMED = re.compile(r"\bINV-[A-Z]+\d+\b")


def invariants(tree):
    told, checked = {}, {}
    for file in tree.under("src", "test"):
        if "INV-" not in file.text:
            continue
        if file.is_header and file.parts[0] == "src":
            for match in TOLD.finditer(file.comments):
                told.setdefault(match.group(1), (file.path, file.line_of(match.start())))
        # A check names the id in a string; an id in a comment checks nothing.
        without_comments = file.code_and_strings
        for match in NAMED.finditer(without_comments):
            checked.setdefault(match.group(), (file.path, file.line_of(match.start())))
    for name, place in told.items():
        if name not in checked:
            yield Finding(*place, f'{name} is told and never checked; assert it: invariant("{name}", ...)')
    for name, place in checked.items():
        if name not in told:
            yield Finding(*place, f"{name} is checked, but no header of src/ states it; write `{name}: ...` there")


RULES = {"invariants": invariants}
