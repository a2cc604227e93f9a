# SPDX-License-Identifier: MIT OR Apache-2.0
"""Explained survivors: mutants whose behaviour the contract permits, with the reason, in a text file.

    src/gp/machine.c top_level(): comparison shifted
    -    for (uint32_t covered = 1; covered < leaves; covered *= READER_FANOUT)
    +    for (uint32_t covered = 1; covered <= leaves; covered *= READER_FANOUT)
    = why this changes nothing that is promised

If an entry names no function, its lines may be anywhere in the file.  An entry explains one mutant.  ` x2` (or another
number) after the operator: it explains two mutants with the same change.  ` #2 of 2`: it explains the second of two
such mutants in a function.  Comments in the lines are compared only by their presence.
"""

import collections
import difflib
import re

from mutation import operators


def difference(text, mutant):
    """Returns the changed lines: `-` the old ones, `+` the new ones."""
    lines = difflib.unified_diff(text.splitlines(), mutant.apply(text).splitlines(), n=0, lineterm="")
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]


def place(path):
    """Returns the room and the file name of a path, without folders inside the room."""
    parts = path.split("/")
    return "/".join(parts[:2]), parts[-1]


def key(path, lines):
    codes = ((line[0], re.sub(r"/\*.*?(\*/|$)", "/**/", line[1:]).split()) for line in lines)
    return place(path), tuple(sign + " ".join(words) for sign, words in codes)


def function_of(text, at):
    """Returns the function of a C file that contains a position."""
    names = re.findall(r"^[a-z][^;{}()]*?(\w+)\([^;{}]*\)\n\{\n", text[:at], re.M)
    return names[-1] if names else ""


def which_of(path, text, lines, function, line):
    """Returns the number, from 1, of a mutant among those with the same change in the function."""
    alike = [mutant for mutant in operators.mutants_of(path, text) if function_of(text, mutant.start) == function
             and key(path, difference(text, mutant)) == key(path, lines)]
    return sum(text.count("\n", 0, mutant.start) + 1 <= line for mutant in alike)


Entry = collections.namedtuple("Entry", "file lines alike which")  # which: None = each of those alike


class Explained:
    """The explanations of a text file, each for a whole source file or for one of its functions."""

    def __init__(self, path):
        self.entries = {}
        lines, where = [], None
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
            if line.startswith(("-", "+")):
                lines.append(line)
            elif line.startswith("="):
                self.entries[key(where[0], lines), where[1]] = Entry(where[0], lines, *where[2:])
                lines = []
            elif line.strip() and not line.startswith("#"):
                file, _, function = line.split(":")[0].partition(" ")
                each, one = re.search(r" x(\d+)$", line), re.search(r" #(\d+) of (\d+)$", line)
                alike = int(each[1] if each else one[2] if one else 1)
                lines, where = [], (file, function.removesuffix("()"), alike, int(one[1]) if one else None)

    def has(self, root, result):
        """Returns true if an entry explains the mutant of this result."""
        path, lines, function = result["path"], result["diff"], result["function"]
        for name in ("", function):
            entry = self.entries.get((key(path, lines), name))
            if entry and (entry.which is None or entry.which == which_of(
                    path, (root / path).read_text(encoding="utf-8"), lines, function, result["line"])):
                return True
        return False

    def misfits(self, root):
        """Returns the entries that fit no mutant of the source, or not as many mutants as they state."""
        made, wrong = {}, []
        for (what, function), (file, lines, said, which) in self.entries.items():
            if file not in made:
                made[file] = made_of(root, file)
            found = made[file][what, function]
            if found != said or (which or 1) > said or (which and not function):
                old = [line[1:].strip() for line in lines if line[0] == "-"]
                wrong.append(f"{file} {function}: {' '.join(old)}: {found} mutants, {said} explained"
                             f"{f', of these number {which}' if which else ''}")
        return wrong


def made_of(root, file):
    """Returns the changes of a file's mutants, with and without their functions."""
    text = (root / file).read_text(encoding="utf-8") if (root / file).exists() else ""
    made = collections.Counter()
    for mutant in operators.mutants_of(file, text):
        what = key(file, difference(text, mutant))
        made.update({(what, ""), (what, function_of(text, mutant.start))})
    return made
