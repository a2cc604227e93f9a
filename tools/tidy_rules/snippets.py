# SPDX-License-Identifier: MIT OR Apache-2.0
"""The C and C++ of the documentation compiles.

A fenced block marked c or cpp is read as declarations or, failing that, as the inside of a function; it may use what
earlier blocks of its page declared.  Text that only looks like code (an excerpt, a drawing) is marked text.
"""

import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess

from tidy_rules import Finding
from tidy_rules.layout import read_cache, write_cache

FENCE = re.compile(r"^[ ]*```(c|cpp|c\+\+)[ \t]*\n(.*?)^[ ]*```[ \t]*$", re.M | re.S)
ERROR = re.compile(r"^snippet:(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", re.M)
STANDARD = ["stdbool.h", "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h", "errno.h", "pthread.h"]


def preamble(tree, language):
    lines = [f"#include <{header}>" for header in STANDARD]
    if tree.exists("include/rtrcu/rcu.h"):
        lines.append("#include <rtrcu/rcu.h>")
    if tree.exists("include/rtrcu/list.h") and language == "c":
        lines.append("#include <rtrcu/list.h>")
    return "\n".join(lines) + "\n"


def compiles(tree, language, source):
    """Returns None, or the first error as (line, message)."""
    # A C compiler only warns about these mistakes, but examples must not contain them.
    strict = [f"-Werror={what}" for what in ("implicit-function-declaration", "implicit-int", "int-conversion",
                                             "incompatible-pointer-types")]
    compiler = ["gcc", "-xc", "-std=gnu11", *strict] if language == "c" else ["g++", "-xc++", "-std=gnu++20"]
    command = [*compiler, "-fsyntax-only", "-D_GNU_SOURCE", "-Iinclude", "-Icxx/include", "-Icompat/include", "-"]
    answer = subprocess.run(command, cwd=tree.root, input=source, capture_output=True, text=True, check=False)
    if answer.returncode == 0:
        return None
    match = ERROR.search(answer.stderr)
    return (int(match.group(1)), match.group(2)) if match else (0, answer.stderr.strip().split("\n")[0])


def as_declarations(block, line):
    return f'#line {line} "snippet"\n{block}\n'


def as_body(block, line):
    # Includes of a fragment are moved to file scope; blank lines in their place keep the line numbers.
    includes = "".join(re.findall(r"^[ ]*#include[^\n]*\n", block, re.M))
    rest = re.sub(r"^[ ]*#include[^\n]*$", "", block, flags=re.M)
    return f'{includes}void snippet_{line}(void)\n{{\n#line {line} "snippet"\n{rest}\n}}\n'


def page_findings(tree, file):
    """Compiles the blocks of one page in order."""
    earlier = {}
    for match in FENCE.finditer(file.text):
        language = "c" if match.group(1) == "c" else "cpp"
        block, line = match.group(2), file.line_of(match.start()) + 1
        head = preamble(tree, language)
        before = earlier.get(language, "")
        error = compiles(tree, language, head + before + as_declarations(block, line))
        if error is None:
            earlier[language] = before + as_declarations(block, line)
            continue
        others = [before + as_body(block, line), as_declarations(block, line), as_body(block, line)]
        errors = [compiles(tree, language, head + other) for other in others]
        if None not in errors:
            # Statements are not valid declarations, so report the errors of reading the block as the inside of a
            # function.
            at, message = errors[0] if re.search(r"expected .* before", error[1]) else error
            yield Finding(file.path, at or line, f"does not compile: {message}; correct the block, or mark it as text")


def snippets(tree):
    pages = [file for file in tree.files if file.extension == ".md" and FENCE.search(file.text)]
    if not pages:
        return
    if not shutil.which("gcc") or not shutil.which("g++"):
        yield Finding(pages[0].path, 1, "no compiler for the examples; run `tools/setup tidy`")
        return
    api = b"".join(file.bytes for file in tree.files if file.parts[0] in ("include", "cxx", "compat"))
    keys = {file.path: hashlib.sha256(api + b"\0" + file.bytes).hexdigest() for file in pages}
    cache_path = os.path.join(tree.root, "build", ".tidy-snippets.json")
    known = read_cache(cache_path)
    unknown = [file for file in pages if keys[file.path] not in known]
    bad = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for findings in pool.map(lambda file: list(page_findings(tree, file)), unknown):
            bad.update(finding.path for finding in findings)
            yield from findings
    if tree.exists(".clang-format"):
        write_cache(cache_path, {keys[file.path] for file in pages if file.path not in bad})


RULES = {"snippets": snippets}
