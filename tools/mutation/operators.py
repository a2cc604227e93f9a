# SPDX-License-Identifier: MIT OR Apache-2.0
"""All mutants of a source file: small edits, each at one place.

The text is C as clang-format leaves it: one statement a line or over several, ended by a semicolon. Comments, strings
and preprocessor lines are blanked before the operators look, so positions stay.
"""

import re
from dataclasses import dataclass

BLANKED = re.compile(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*', re.S | re.M)
# Statements that are not mutated: they have no effect in these builds, or are checks themselves.
NO_SUBJECT = re.compile(r"^\s*(?:else\s+)?(?:\(void\)\w+;|must_hold|invariant|plat_print|plat_die|\w*prefetch\w*\(|"
                        r"rtrcu_tsan|_Static_assert|\w+:)")
# Statements whose effects other threads can see; only their order matters.
SEEN_BY_OTHERS = re.compile(r"\b(?:rtrcu_(?:store|exchange|fetch|compare|fence|word)\w*|"
                            r"(?:lock|config|reader|gp|parked|cbqueue|callback|work|turn|serve|driver|plat"
                            r"|section)_\w+)\(")
KEYWORDS = ("return", "goto", "break", "continue", "case", "default", "else", "if", "for", "while", "do", "switch")


@dataclass(frozen=True)
class Mutant:
    path: str  # below the root of the tree
    operator: str
    start: int
    end: int
    new: str

    def apply(self, text):
        return text[:self.start] + self.new + text[self.end:]


def blank(text):
    """Returns the text with spaces in place of everything that no operator may change."""
    return BLANKED.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def bodies(code):
    """Returns the spans of function bodies: they begin with a brace in the first column, or after `)` of an inline."""
    for match in re.finditer(r"\)\n\{\n", code):
        if re.search(r"\n[^\n]*prefetch\w*\([^{};]*\Z", code[:match.start()]):
            continue  # a hint to the machine
        start = match.end()
        end = code.find("\n}", start)
        if end > 0:
            yield start, end


def statements(code, start, end):
    """Returns the spans of simple statements, up to the semicolon, with the spaces before them."""
    at = start
    while at < end:
        stop = at
        depth = 0
        while stop < end and not (depth == 0 and code[stop] in ";{}"):
            depth += (code[stop] in "([") - (code[stop] in ")]")
            stop += 1
        if stop < end and code[stop] == ";" and code[at:stop].strip():
            yield at, stop + 1
        at = stop + 1


def header_of(words):
    """Returns the index at which a statement begins after `if (...)`, `else` or `for (...)`; 0: it has no such part."""
    at = 0
    while True:
        match = re.match(r"\s*(?:(?:if|for|while)\s*\(|else\b)", words[at:])
        if not match:
            return at
        at += match.end()
        if words[at - 1] == "(":
            depth = 1
            while depth and at < len(words):
                depth += (words[at] == "(") - (words[at] == ")")
                at += 1


def is_plain(words):
    """Returns true for an assignment or a call, not for a declaration or a jump."""
    words = words.strip()
    if words.startswith(KEYWORDS) or NO_SUBJECT.match(words):
        return False
    if re.match(r"(?:static |const |struct |enum |unsigned |uint|int|bool |char |size_t |sigset_t |int64_t )", words):
        return False
    return not re.match(r"[A-Za-z_]\w*\s+\**[A-Za-z_]\w*\s*(?:=|;|,|\[)", words)


def drop_statements(path, code, start, end):
    plain = []
    for first, last in statements(code, start, end):
        words = code[first:last]
        lead = header_of(words)
        if not is_plain(words[lead:]):
            continue
        at = first + lead + (len(words[lead:]) - len(words[lead:].lstrip()))
        yield Mutant(path, "statement dropped", at, last, ";")
        if not lead:
            plain.append((at, last))
    for (a, b), (c, d) in zip(plain, plain[1:]):
        shared = SEEN_BY_OTHERS.search(code[a:b]) and SEEN_BY_OTHERS.search(code[c:d])
        if shared and not code[b:c].strip() and "\n" in code[b:c]:
            yield Mutant(path, "statements swapped", a, d, None)


def drop_locks(path, code, start, end):
    for match in re.finditer(r"lock_acquire\((.*?)\);", code[start:end]):
        name = re.escape(match.group(1))
        if re.search(r"lock_release\(" + name + r"\);", code[start:end]):
            body = re.sub(r"lock_(?:acquire|release)\(" + name + r"\);", ";", code[start:end])
            yield Mutant(path, "lock dropped", start, end, body)


def conditions(path, code, start, end):
    for match in re.finditer(r"\b(if|while) \(", code[start:end]):
        first = last = start + match.end()
        depth = 1
        while depth:
            depth += (code[last] == "(") - (code[last] == ")")
            last += 1
        inside = code[first:last - 1]
        if match.group(1) == "if":
            yield Mutant(path, "condition negated", first, last - 1, f"!({inside})")
            yield Mutant(path, "condition true", first, last - 1, f"1 || ({inside})")
        yield Mutant(path, "condition false", first, last - 1, f"0 && ({inside})")


REPLACED = [
    ("order weakened", r"\brtrcu_load_acquire\(", "rtrcu_load_relaxed("),
    ("order weakened", r"\brtrcu_store_release\(", "rtrcu_store_relaxed("),
    ("fence weakened", r"\brtrcu_fence_full\(\)", "rtrcu_fence_light()"),
    ("comparison shifted", r" < ", " <= "),
    ("comparison shifted", r" > ", " >= "),
    ("comparison shifted", r" <= ", " < "),
    ("comparison shifted", r" >= ", " > "),
    ("comparison inverted", r" == ", " != "),
    ("comparison inverted", r" != ", " == "),
    ("and for or", r" && ", " || "),
    ("or for and", r" \|\| ", " && "),
    ("bits kept", r"&= ~", "|= "),
    ("bits replaced", r" \|= ", " = "),
    ("bits cleared", r" \|= ", " &= ~"),
    ("inverse dropped", r"(?<=[ (])~(?=[\w(])", ""),
    ("off by one", r" \+ 1\b", ""),
    ("off by one", r" - 1\b", ""),
    ("sign changed", r" \+ (?=\w)", " - "),
    ("sign changed", r" - (?=\w)", " + "),
    ("counted down", r"\+\+", "--"),
    ("assignment kept", r" \+= ", " = "),
    ("nothing for one", r"(?<=[ (])1(?=[,;)])", "0"),
    ("one for nothing", r"(?<=[ (])0(?=[,;)])", "1"),
    ("truth changed", r"\breturn true;", "return false;"),
    ("truth changed", r"\breturn false;", "return true;"),
    ("jump dropped", r"\b(?:break|continue);", ";"),
    ("action dropped", r"\breturn (?!true|false|NULL)(\w+_ACTION_(?!NONE)\w+);", "return 0;"),
]


def replacements(path, code, start, end):
    for operator, pattern, new in REPLACED:
        for match in re.finditer(pattern, code[start:end]):
            yield Mutant(path, operator, start + match.start(), start + match.end(), new)


def early_returns(path, code, start, end):
    """Yields mutants that remove a conditional `return;`."""
    for match in re.finditer(r"\breturn;", code[start:end]):
        yield Mutant(path, "return dropped", start + match.start(), start + match.end(), ";")


def swapped(text, mutant):
    """Returns the new text of two swapped statements, with the text between them."""
    whole = text[mutant.start:mutant.end]
    code = blank(whole)
    (a, b), (c, d) = list(statements(code, 0, len(code)))[:2]
    c += len(code[c:d]) - len(code[c:d].lstrip())
    return whole[c:d] + whole[b:c] + whole[a:b]


def mutants_of(path, text):
    """Returns every mutant of @text, in the order of their positions."""
    code = blank(text)
    found = []
    for start, end in bodies(code):
        for operator in (drop_statements, drop_locks, conditions, replacements, early_returns):
            for mutant in operator(path, code, start, end):
                if NO_SUBJECT.match(code[code.rfind("\n", 0, mutant.start) + 1:]):
                    continue
                if mutant.new is None:
                    mutant = Mutant(path, mutant.operator, mutant.start, mutant.end, swapped(text, mutant))
                found.append(mutant)
    return sorted(set(found), key=lambda mutant: (mutant.start, mutant.end, mutant.operator, mutant.new))
