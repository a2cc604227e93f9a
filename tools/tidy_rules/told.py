# SPDX-License-Identifier: MIT OR Apache-2.0
"""Statements of pages about the source: links and files, names of functions, the program's commands, numbers.

docs/numbers.txt lists the numbers of pages and their places in the source; the head of that file describes its format.
"""

import os
import re

from tidy_rules import Finding
from tidy_rules.rooms import ROOMS

NUMBERS = "docs/numbers.txt"
DOCUMENTS = "docs/documents.md"  # its quotes and keys are of the program's output
PORTING = "docs/porting.md"  # names what the kernel and other libraries have
LINK = re.compile(r"\]\(([^)\s:]*?)(?:#([^)\s]*))?\)")
PATH = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:c|h|cc|hpp|py|md|rs|txt|sh|pml|mutant))`")
CALL = re.compile(rf"`((?:rtrcu|rcu|cbqueue|cbchain|{'|'.join(ROOMS)})_\w+)\(\)`")
WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
NUMBER = rf"0x[0-9a-f]+|[0-9]+(?:[,'][0-9]{{3}})+|[0-9]+|{'|'.join(WORDS)}"
COMMAND = re.compile(r"`rtrcu ([a-z][^`]*)`")
DECLARED = re.compile(r'add_(?:command|experiment<[^>]*>)\(\s*application,\s*"(\w+)"')
OF_GDB = re.compile(r'"rtrcu (\w+)", gdb')
KEY = re.compile(r"`([a-z0-9]+(?:_[a-z0-9]+)+)`")
QUOTE = re.compile(r'"([^"\n]+)"')
FENCE = re.compile(r"^```.*?^```", re.S | re.M)


def pages(tree):
    """Returns the pages about the present state; a changelog and decisions are about the past."""
    for file in tree.files:
        if file.extension == ".md" and file.name != "CHANGELOG.md" and "decisions" not in file.parts:
            yield file


def prose(file):
    """Returns the page without its examples, with the same number of lines."""
    return FENCE.sub(lambda match: "\n" * match.group().count("\n"), file.text)


def folders(tree):
    return {os.path.dirname(path[: at.end()]) for path in tree.by_path for at in re.finditer("/", path)}


def anchors(file):
    """Returns the anchors of the headings, as web pages make them."""
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


def of_program(tree):
    """Returns the source of the program, with adjacent string literals joined."""
    text = "\n".join(file.text for file in tree.files if file.path.startswith("lab/") and file.is_c_like)
    return re.sub(r'"\s*\n\s*"', "", text)


def wrong_in(words, commands, source, tree):
    """Returns the parts of a page's command line that the program does not have."""
    if words[0] not in commands:
        yield f"rtrcu {words[0]}: there is no such command"
        return
    for word, value in zip(words[1:], words[2:] + [""]):
        if re.fullmatch(r"--[a-z-]+", word) and f'"{word}"' not in source and f'"{word[2:]}"' not in source:
            yield f"rtrcu {words[0]} {word}: there is no such option"
        if word == "--scenario" and not tree.exists(f"lab/torture/scenarios/{value}.json"):
            yield f"rtrcu {words[0]} {word} {value}: there is no such scenario"


def told_commands(tree):
    source = of_program(tree)
    commands = set(DECLARED.findall(source))
    gdb = {name for file in tree.files if file.extension == ".py" for name in OF_GDB.findall(file.text)}
    for file in pages(tree) if commands else ():
        for match in COMMAND.finditer(prose(file)):
            words = re.split(r"[\s=]+", match.group(1))
            if words[0] in gdb:
                continue
            for wrong in wrong_in(words[: words.index("--")] if "--" in words else words, commands, source, tree):
                yield Finding(file.path, file.line_of(match.start()), wrong)
    if not tree.exists(DOCUMENTS):
        return
    file = tree.by_path[DOCUMENTS]
    said = set(re.findall(r"\w+", source + "".join(one.text for one in tree.c_files)))
    for match in KEY.finditer(file.text):
        if match.group(1) not in said:
            yield Finding(file.path, file.line_of(match.start()), f"{match.group(1)}: there is no such key or name")
    table = file.text.index("| document | item |")
    for match in QUOTE.finditer(file.text, table):
        if match.group(1) not in source and not any(match.group(1) in one.text for one in pages(tree) if one != file):
            yield Finding(file.path, file.line_of(match.start()), f'"{match.group(1)}" is printed nowhere')


def number_of(text):
    text = re.sub(r"[,']", "", text.lower())
    return WORDS.index(text) if text in WORDS else int(text, 16 if text.startswith("0x") else 10)


def value_at(file, words):
    """Returns the number at {} in these words of the file, and its line; None: the file does not have the words."""
    if words.startswith("count "):
        return len(re.findall(words[len("count ") :], file.text, re.M)) or None, 1
    before, after = (re.sub(r"(?:\\ )+", r"[\\s*]+", re.escape(part)) for part in words.split("{}"))
    match = re.search(rf"{before}({NUMBER}){after}", file.text, re.I)
    return (number_of(match.group(1)), file.line_of(match.start(1))) if match else (None, 1)


def sides(row):
    """Returns the two sides of a row of docs/numbers.txt, page and source, each as (path, words)."""
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
                yield Finding(NUMBERS, number, f"{path} does not contain `{words}`; follow its present text")
        (page, line, told), (source, _, true) = values
        if told is not None and true is not None and told != true:
            yield Finding(page, line, f"says {told}, {source} says {true}")


RULES = {
    "told-files": told_files,
    "told-names": told_names,
    "told-commands": told_commands,
    "told-numbers": told_numbers,
}
