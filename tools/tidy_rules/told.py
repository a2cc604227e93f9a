# SPDX-License-Identifier: MIT OR Apache-2.0
"""What pages tell of the source: links and files, names of the project's functions, numbers.

Which number of a page stands where in the source is listed in docs/numbers.txt, whose head says how.
"""

import os
import re

from tidy_rules import Finding
from tidy_rules.rooms import ROOMS

NUMBERS = "docs/numbers.txt"
PORTING = "docs/porting.md"  # names what the kernel and other libraries have
LINK = re.compile(r"\]\(([^)\s:]*?)(?:#([^)\s]*))?\)")
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:c|h|cc|hpp|py|md|rs|txt|sh|pml|mutant))`")
CALL = re.compile(rf"`((?:rtrcu|rcu|cbqueue|cbchain|{'|'.join(ROOMS)})_\w+)\(\)`")
WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
NUMBER = rf"0x[0-9a-f]+|[0-9]+(?:[,'][0-9]{{3}})+|[0-9]+|{'|'.join(WORDS)}"
FENCE = re.compile(r"^```.*?^```", re.S | re.M)


def pages(tree):
    """Pages that tell what is so now; a changelog and decisions tell what was so."""
    for file in tree.files:
        if file.extension == ".md" and file.name != "CHANGELOG.md" and "decisions" not in file.parts:
            yield file


def prose(file):
    """The page without its examples: as many lines."""
    return FENCE.sub(lambda match: "\n" * match.group().count("\n"), file.text)


def folders(tree):
    return {os.path.dirname(path[: at.end()]) for path in tree.by_path for at in re.finditer("/", path)}


def anchors(file):
    """Of the headings, as web pages make them."""
    heads = re.findall(r"^#+ +(.*)", prose(file), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def told_files(tree):
    known = set(tree.by_path) | folders(tree) | {""}
    for file in pages(tree):
        here = os.path.dirname(file.path)
        text = prose(file)
        for match in LINK.finditer(text):
            path, anchor = match.groups()
            target = os.path.normpath(os.path.join(here, path)) if path else file.path
            if target.rstrip("/") not in known:
                yield Finding(file.path, file.line_of(match.start()), f"{path}: there is no such file")
            elif anchor and target in tree.by_path and anchor not in anchors(tree.by_path[target]):
                yield Finding(file.path, file.line_of(match.start()), f"{target} has no heading for #{anchor}")
        for match in PATH.finditer(text):
            path = match.group(1)
            if not any(os.path.normpath(os.path.join(start, path)) in known for start in (here, "", "src", "include")) \
                    and not any(full.endswith("/" + path) for full in known):
                yield Finding(file.path, file.line_of(match.start()), f"{path}: there is no such file")


def told_names(tree):
    said = {word for file in tree.c_files for word in re.findall(r"\w+", file.code)}
    said |= {word for file in tree.files if file.extension == ".rs" for word in re.findall(r"\w+", file.text)}
    for file in pages(tree):
        if file.path == PORTING:
            continue
        for match in CALL.finditer(prose(file)):
            if match.group(1) not in said:
                yield Finding(file.path, file.line_of(match.start()), f"{match.group(1)}(): there is no such function")


def number_of(text):
    text = re.sub(r"[,']", "", text.lower())
    return WORDS.index(text) if text in WORDS else int(text, 16 if text.startswith("0x") else 10)


def value_at(file, words):
    """The number that stands at {} in these words of the file, and where; None: the words are not there."""
    if words.startswith("count "):
        return len(re.findall(words[len("count ") :], file.text, re.M)) or None, 1
    before, after = (re.sub(r"(?:\\ )+", r"[\\s*]+", re.escape(part)) for part in words.split("{}"))
    match = re.search(rf"{before}({NUMBER}){after}", file.text, re.I)
    return (number_of(match.group(1)), file.line_of(match.start(1))) if match else (None, 1)


def sides(row):
    """(path, words) of page and source."""
    return [tuple(part.strip() for part in side.split(":", 1)) for side in row.split(" <- ", 1)]


def told_numbers(tree):
    if not tree.exists(NUMBERS):
        return
    for number, row in enumerate(tree.by_path[NUMBERS].lines, 1):
        if not row.strip() or row.startswith("#"):
            continue
        values = []
        for path, words in sides(row):
            value, line = value_at(tree.by_path[path], words) if tree.exists(path) else (None, 1)
            values.append((path, line, value))
            if value is None:
                yield Finding(NUMBERS, number, f"{path} does not say `{words}`; follow what it says now")
        (page, line, told), (source, _, true) = values
        if told is not None and true is not None and told != true:
            yield Finding(page, line, f"says {told}, {source} says {true}")


RULES = {"told-files": told_files, "told-names": told_names, "told-numbers": told_numbers}
