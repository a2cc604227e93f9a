# SPDX-License-Identifier: MIT OR Apache-2.0
"""What aarch64's compiler reads of a text, where that depends on the machine alone: on the conditions of #if."""

import re

MACHINE = {"__x86_64__": "False", "__aarch64__": "True", "__riscv": "False"}
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(.*)$")


def holds(word, rest):
    """True or False; None: it asks for something else."""
    if word in ("ifdef", "ifndef"):
        rest = f"{'!' if word == 'ifndef' else ''}defined({rest.strip()})"
    if rest.rstrip().endswith("\\"):
        return None
    text = re.sub(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))",
                  lambda match: MACHINE.get(match[1] or match[2], match[1] or match[2]), rest)
    text = text.replace("&&", " and ").replace("||", " or ").replace("!", " not ").strip()
    if not text or not set(re.findall(r"\w+", text)) <= {"True", "False", "and", "or", "not"}:
        return None
    return bool(eval(text))  # of these five words


class Open:
    """An #if that is open.  @read: whether what stands here is read; None: it depends on something else."""

    def __init__(self, word, rest):
        self.read = holds(word, rest)
        self.known, self.done = self.read is not None, self.read is True

    def goes_on(self, word, rest):
        if not self.known:
            return
        found = True if word == "else" else holds("if", rest)
        if found is None and not self.done:
            self.known, self.read = False, None  # what has been left out stays so
            return
        self.read = not self.done and found is True
        self.done = self.done or self.read


def as_on_aarch64(text):
    """The same length; what is not read there, and the directives that say so, are blank."""
    lines, opened = [], []
    for line in text.split("\n"):
        match = DIRECTIVE.match(line)
        decided = False
        if match:
            word, rest = match.groups()
            if word in ("if", "ifdef", "ifndef"):
                opened.append(Open(word, rest))
                decided = opened[-1].known
            elif opened:
                if word == "endif":
                    decided = opened.pop().known
                else:
                    opened[-1].goes_on(word, rest)
                    decided = opened[-1].known
        hidden = decided or any(one.read is False for one in opened)
        lines.append(" " * len(line) if hidden else line)
    return "\n".join(lines)
