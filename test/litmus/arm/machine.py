# SPDX-License-Identifier: MIT OR Apache-2.0
"""The parts of a text that the compiler reads for aarch64, if the conditions of #if depend on the machine alone.

What RTRCU_DYNAMIC_TLS selects, the build of a private copy, is left out.
"""

import re

MACHINE = {"__x86_64__": "False", "__aarch64__": "True", "__riscv": "False", "RTRCU_ONE_WORD": "False",
           "RTRCU_DYNAMIC_TLS": "False"}
DIRECTIVE = re.compile(r"^([ \t]*#[ \t]*)(if|ifdef|ifndef|elif|elifdef|elifndef|else|endif)\b(.*)$")
KNOWN = re.compile(r"(?:True|False|&&|\|\||!(?!=)|[\s()])+")


def holds(word, rest):
    """True or False; None: the condition depends on something else, or has another form."""
    if word.endswith("def"):
        rest = f"{'!' if word.endswith('ndef') else ''}defined({rest.strip()})"
    text = re.sub(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))",
                  lambda match: f" {MACHINE.get(match[1] or match[2])} ", rest)
    if not KNOWN.fullmatch(text):
        return None
    try:
        return bool(eval(text.replace("&&", " and ").replace("||", " or ").replace("!", " not ").strip()))
    except (SyntaxError, TypeError):
        return None


class Open:
    """An open #if.  @read: whether the current text is read; None: that depends on something else."""

    def __init__(self, word, rest):
        self.read = holds(word, rest)
        self.known, self.done = self.read is not None, self.read is True

    def goes_on(self, word, rest):
        """Whether this is the first branch that is not known to be left out.  Branches left out before stay so."""
        if not self.known:
            return False
        found = True if word == "else" else holds(word.removeprefix("el"), rest)
        if found is None and not self.done:
            self.known, self.read = False, None
            return True
        self.read = not self.done and found is True
        self.done = self.done or self.read
        return False


def as_on_aarch64(text):
    """A text of the same length, in which the parts that are not read, and their directives, are blank.  An #elif after
    blank branches only becomes an #if, so that the remaining directives are complete.

    """
    lines, opened = [], []
    for line in text.split("\n"):
        match = DIRECTIVE.match(line)
        decided = False
        if match:
            head, word, rest = match.groups()
            if word.startswith("if"):
                opened.append(Open(word, rest))
                decided = opened[-1].known
            elif opened and word == "endif":
                decided = opened.pop().known
            elif opened:
                if opened[-1].goes_on(word, rest):
                    line = f"{head}{word.removeprefix('el')}{rest}  "
                decided = opened[-1].known
        hidden = decided or any(one.read is False for one in opened)
        lines.append(" " * len(line) if hidden else line)
    return "\n".join(lines)
