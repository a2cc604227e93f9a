# SPDX-License-Identifier: MIT OR Apache-2.0
"""The conditions in a function's text that decide whether a place in it is reached: the conditions and loops around it,
the exits before it, and conditional compilation.  Only texts are compared: equivalent conditions in other words differ.
"""

import re

# A macro may contain any of these, and so may an operand that is not evaluated.
CONTROL = re.compile(r"\b(?:if|else|for|while|do|switch|case|default|sizeof|typeof|__typeof__|__builtin_\w+)\b|\?|&&|"
                     r"\|\||\b(?!RTRCU_)[A-Z][A-Z0-9_]*\(")
OUT = re.compile(r"\b(return|goto|break|continue|abort|exit|_exit|pthread_exit|plat_die|__builtin_\w+)\b|"
                 r"^(?!RTRCU_|INVARIANT)([A-Z][A-Z0-9_]*)\(|\b(?:for|while) ?\(.*\)$")
LOOP = re.compile(r"^(?:for|while|do|switch)\b")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\\\n]|\\.)*", re.M | re.S)
GUARD = re.compile(r"\A\s*#ifndef (\w+)\n#define \1\n")  # a header's include guard, which is no condition


def words(text):
    return re.sub(r"\s+", " ", text.replace("\\\n", " ")).strip()


class Reader:
    """Reads the text up to the place."""

    def __init__(self):
        self.blocks = []   # (header, number of exits before it, depth of brackets before it) of each open block
        self.outs = []     # (the word, text) of each exit
        self.last_if = {}  # depth -> the header of the last `if` there
        self.unmet = []    # open conditional compilation
        self.start = 0

    def header(self, text):
        text = words(text)
        if text.startswith("else"):
            text = f"else of {self.last_if.get(len(self.blocks), '')}; {text[4:].strip()}".rstrip("; ")
        return text

    def ended(self, text):
        """A statement."""
        text = self.header(text)
        if re.match(r"(?:else of .*; )?if\b", text):
            self.last_if[len(self.blocks)] = text
        out = OUT.search(text)
        if out:
            self.outs.append((out.group(1) or "", " ".join([*self.conditions(), text])))

    def conditions(self):
        return [header for header, *_ in self.blocks if CONTROL.search(header)]

    def opened(self, text, depth):
        self.blocks.append((self.header(text), len(self.outs), depth))

    def closed(self):
        """The depth of brackets around the block."""
        header, before, depth = self.blocks.pop()
        if re.match(r"(?:else of .*; )?if\b", header):
            self.last_if[len(self.blocks)] = header
        if LOOP.match(header):
            ended = ("break",) if header.startswith("switch") else ("break", "continue")
            self.outs[before:] = [out for out in self.outs[before:] if out[0] not in ended]
        if re.match(r"for \(;;\)|while \((?:1|true)\)", header):
            self.outs.append(("", header))
        return depth

    def directive(self, text):
        word = text.lstrip("# \t").split(None, 1)[0:1]
        if word and word[0].startswith("if"):
            self.unmet.append(words(text))
        elif word and word[0].startswith("el"):
            self.unmet[-1:] = [f"{words(text)} of {self.unmet[-1] if self.unmet else ''}"]
        elif word == ["endif"]:
            self.unmet = self.unmet[:-1]


def around(text):
    """@text: of a file up to a definition.  Returns the conditional compilation that is open there, a list of texts."""
    reader = Reader()
    for directive in DIRECTIVE.findall(GUARD.sub("", text)):
        reader.directive(directive)
    return reader.unmet


def way_to(text):
    """@text: of a function or macro from its first line up to the place.  Returns a list of texts, empty if the place
    is always reached.
    """
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'', '""', text)
    reader, depth, at = Reader(), 0, 0
    macro = re.match(r"#define \w+\([^)]*\)", text)
    body = macro.end() if macro else text.find("{") + 1
    reader.start = at = body
    while at < len(text):
        if text[at] == "#" and not text[text.rfind("\n", 0, at) + 1:at].strip() and not macro:
            end = DIRECTIVE.match(text, text.rfind("\n", 0, at) + 1).end()
            reader.directive(text[at:end])
            text = text[:at] + " " * (end - at) + text[end:]  # the text that it interrupts continues after it
            at = end
            continue
        if text[at] in "([":
            depth += 1
        elif text[at] in ")]":
            depth -= 1
        elif text[at] == "{":
            reader.opened(text[reader.start:at], depth)
            depth, reader.start = 0, at + 1
        elif text[at] == "}" and reader.blocks:
            depth = reader.closed()
            reader.start = at + 1
        elif text[at] == ";" and depth == 0:
            reader.ended(text[reader.start:at])
            reader.start = at + 1
        at += 1
    rest = reader.header(text[reader.start:])
    return ([out for _, out in reader.outs] + reader.conditions() + ([rest] if CONTROL.search(rest) else []) +
            reader.unmet)
