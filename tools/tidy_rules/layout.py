# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layout by clang-format.  Files whose contents were clean before are not checked again.

It leaves comments as they are, since it would tear tables apart; so their width is checked here.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess

from tidy_rules import Finding
from tidy_rules.heads import is_code

PROGRAM = "clang-format-14"
COLUMNS = 120
MESSAGE = re.compile(r"^(.*?):(\d+):\d+: (?:error|warning): code should be clang-formatted")


def key(tree, file):
    style = tree.by_path.get(".clang-format")
    return hashlib.sha256((style.bytes if style else b"") + b"\0" + file.bytes).hexdigest()


def read_cache(path):
    try:
        with open(path, encoding="utf-8") as stream:
            return set(json.load(stream))
    except (OSError, ValueError):
        return set()


def write_cache(path, clean):
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as stream:
            json.dump(sorted(clean), stream)
        os.replace(path + ".new", path)
    except OSError:
        pass  # a read-only tree is checked in full every time


def ask(tree, files):
    """Returns the first badly laid out line of each of @files."""
    command = [PROGRAM, "--dry-run", "--style=file", *(file.path for file in files)]
    answer = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=False)
    first = {}
    for line in answer.stderr.splitlines():
        match = MESSAGE.match(line)
        if match:
            first.setdefault(match.group(1), int(match.group(2)))
    if answer.returncode and not first:
        first[files[0].path] = 1
    return first


def missing():
    """Returns the reason why this rule cannot be checked if clang-format 14 is missing, otherwise None."""
    return None if shutil.which(PROGRAM) else f"{PROGRAM} is not installed"


def layout(tree):
    cache_path = os.path.join(tree.root, "build", ".tidy-format.json")
    known = read_cache(cache_path)
    unknown = [file for file in tree.c_files if key(tree, file) not in known]
    groups = [unknown[start : start + 8] for start in range(0, len(unknown), 8)]
    bad = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for first in pool.map(lambda group: ask(tree, group), groups):
            bad.update(first)
    for path, line in bad.items():
        yield Finding(path, line, f"the layout differs from .clang-format; run `{PROGRAM} -i {path}`")
    # Samples have no build directory of their own and get none.
    if tree.exists(".clang-format"):
        write_cache(cache_path, {key(tree, file) for file in tree.c_files if file.path not in bad})


def width(tree):
    for file in tree.files:
        if not is_code(file):
            continue
        for number, line in enumerate(file.lines, 1):
            if len(line) > COLUMNS:
                yield Finding(file.path, number, f"{len(line)} columns, above the limit of {COLUMNS}; break the line")


layout.missing = missing

RULES = {"layout": layout, "width": width}
