# SPDX-License-Identifier: MIT OR Apache-2.0
"""Every source file has test/unit/<room>/<stem>.cc, or the line `tested by: <path>` in its head comment."""

import re

from tidy_rules import Finding

TESTED_BY = re.compile(r"tested by:[ ]*([^\n*]+)")


def head_comment(file):
    """Returns the comments before the first code."""
    blocks = []
    code = file.code.split("\n")
    for first, last, text in file.comment_blocks:
        if any(line.strip() for line in code[: first - 1]):
            break
        blocks.append((first, last, text))
    return blocks


def unit_mirror(tree):
    for file in tree.under("src"):
        if file.extension != ".c":
            continue
        stem = "/".join(file.parts[1:])[: -len(".c")]
        mirror = f"test/unit/{stem}.cc"
        if tree.exists(mirror):
            continue
        said = [
            (first + text.count("\n", 0, match.start()), match.group(1))
            for first, _, text in head_comment(file)
            for match in TESTED_BY.finditer(text)
        ]
        if not said:
            message = f"no test: write {mirror}, or the line `tested by: <path>` into the head comment"
            yield Finding(file.path, 1, message)
        for line, paths in said:
            for path in re.split(r"[,\s]+", paths.strip()):
                if path and not tree.exists(path):
                    yield Finding(file.path, line, f"tested by {path}, which does not exist; write it, or name another")


RULES = {"unit-mirror": unit_mirror}
