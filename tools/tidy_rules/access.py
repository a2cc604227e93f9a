# SPDX-License-Identifier: MIT OR Apache-2.0
"""How code accesses shared values: sequence numbers by seq_*(), atomics by the wrappers of detail/."""

import re

from tidy_rules import Finding

LIBRARY = ("src", "include", "cxx", "compat")
SEQUENCE = r"\b\w*seq\b"
PATH = r"(?:[A-Za-z_]\w*(?:->|\.|\[[^\]\n]*\]))*"
# `seq <`, `a->seq >=`, `gp_seq[i] <`, with the operands in either order; not shifts, ->, or <header.h>.
BEFORE = re.compile(SEQUENCE + r"(?:\[[^\]\n]*\]|\))*\s*(<=|>=|<|>)(?![<>])")
BEHIND = re.compile(r"(?<![-<>=])(<=|>=|<|>)\s*\(?&?\*?" + PATH + SEQUENCE + r"(?!\s*\()")
BUILTIN = re.compile(r"\b(__atomic_\w+|__sync_\w+|__ATOMIC_\w+|_Atomic\b|stdatomic\.h)")
WRAPPERS = re.compile(r"(^|/)detail/(atomic|fence)\.h$")


def sequence_comparisons(tree):
    for file in tree.under(*LIBRARY):
        if file.path == "src/base/seq.h":
            continue
        code = re.sub(r"#[ \t]*include[^\n]*", "", file.code)
        for number, line in enumerate(code.split("\n"), 1):
            match = BEFORE.search(line) or BEHIND.search(line)
            if match:
                message = f"compares a sequence number, which wraps, with {match.group(1)}; use seq_*() of base/seq.h"
                yield Finding(file.path, number, message)


def bare_atomics(tree):
    for file in tree.c_files:
        if WRAPPERS.search(file.path):
            continue
        for match in BUILTIN.finditer(file.code):
            message = f"{match.group(1)}: use the wrappers of <rtrcu/detail/atomic.h> and fence.h, which name the order"
            yield Finding(file.path, file.line_of(match.start()), message)


RULES = {"sequence-comparisons": sequence_comparisons, "bare-atomics": bare_atomics}
