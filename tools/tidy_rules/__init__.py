# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rules of tidy, one file for each concern.

A rule is a function that takes a Tree and yields Finding(path, line, message); its module lists it in RULES under the
name that messages and the samples of test/tidy use.
"""

import dataclasses
import importlib

MODULES = """
    heads layout bodies rooms access macros ordering invariants public mirror snippets fields symbols told words
""".split()


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    path: str
    line: int
    message: str
    entry: str = ""  # how the rule's list of what it still allows names it; see allow.py


def all_rules():
    """Returns every rule by name, in the order of the modules."""
    rules = {}
    for name in MODULES:
        rules.update(importlib.import_module(f"tidy_rules.{name}").RULES)
    return rules
