# SPDX-License-Identifier: MIT OR Apache-2.0
"""Macros: none is unused, and no condition tests an undefined one."""

import collections
import re

from tidy_rules import Finding

DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.M)
UNDEF = re.compile(r"^[ \t]*#[ \t]*undef[ \t]+(\w+)", re.M)
CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b((?:[^\n]*\\\n)*[^\n]*)", re.M)
WORD = re.compile(r"[A-Za-z_]\w*")


def is_public(file):
    """Returns true for a header whose macros programs may use; those in detail/ are for the library's own headers."""
    folders = ("include/rtrcu/", "liburcu/include/", "cxx/", "compat/")
    return file.path.startswith(folders) and "detail" not in file.parts


def is_guard(file, match):
    before = file.code[: match.start()].rstrip().rsplit("\n", 1)[-1]
    return re.match(r"\s*#\s*ifndef\s+" + match.group(1) + r"\s*$", before) is not None


def dead_macros(tree):
    uses = collections.Counter()
    for file in tree.c_files:
        uses.update(WORD.findall(file.code))
        uses.subtract(DEFINE.findall(file.code))
        uses.subtract(UNDEF.findall(file.code))
    for file in tree.c_files:
        for match in DEFINE.finditer(file.code):
            name = match.group(1)
            # A name with a leading underscore belongs to the C library, which tidy does not read.
            if name.startswith("_") or is_public(file) or is_guard(file, match) or uses[name] > 0:
                continue
            yield Finding(file.path, file.line_of(match.start(1)), f"macro {name} is used nowhere; delete it")


def undefined_macros(tree):
    defined = set()
    for file in tree.files:
        if file.is_c_like:
            defined.update(DEFINE.findall(file.code))
        elif file.name in {"CMakeLists.txt", "build.rs"} or file.extension in {".cmake", ".in", ".json"}:
            defined.update(WORD.findall(file.text))
    for file in tree.c_files:
        for match in CONDITION.finditer(file.code):
            for name in WORD.findall(match.group(1)):
                # The program defines liburcu's own switches.
                ours = name.startswith("RTRCU_" if file.path.startswith("liburcu/include/") else ("RTRCU_", "RCU_"))
                if ours and name not in defined:
                    message = f"{name} is never defined; define it in the build, or delete the branch"
                    yield Finding(file.path, file.line_of(match.start(1)), message)


RULES = {"dead-macros": dead_macros, "undefined-macros": undefined_macros}
