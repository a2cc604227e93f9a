# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds functions and declarations in C and C++ text.

This is not a compiler: it follows braces in text without comments, strings and preprocessor lines.  The text before a
brace decides what the brace opens.  clang-format guarantees the necessary layout: the brace of a function is on a line
of its own.
"""

import dataclasses
import re

ATTRIBUTE = re.compile(
    r"__attribute__\s*\(\((?:[^()]|\([^()]*(?:\([^()]*\))?[^()]*\))*\)\)|\[\[[^\]]*\]\]|alignas\s*\([^)]*\)"
)
OPENS_NAMESPACE = re.compile(r'^(extern\s*"\s*"|(inline\s+)?namespace\b[^({=;]*)$')
OPENS_TYPE = re.compile(r"(^|\s)(class|struct|union)\b[^()=]*$")
OPENS_ENUM = re.compile(r"(^|\s)enum\b[^()=]*$")
INITIALIZER_LIST = re.compile(r"\)\s*(?:noexcept\s*)?:[^:]")
NAME = re.compile(r"([~\w:]*operator\s*(?:\(\)|[^\s(\w]+|\w+)|[~A-Za-z_][\w:~]*(?:<[^()]*>)?)\s*\(")
TEST_MACRO = re.compile(r"^(TEST|TEST_F|TEST_P|BENCHMARK_F|BENCHMARK_DEFINE_F)\s*\(([^)]*)\)")


@dataclasses.dataclass
class Function:
    name: str
    head: str  # everything from its first word to the brace
    first: int  # line of its first word
    last: int  # line of its closing brace
    body: str
    body_line: int
    in_class: bool


@dataclasses.dataclass
class Statement:
    """A declaration outside functions; text in braces is replaced by {}."""

    text: str
    line: int
    in_class: bool


@dataclasses.dataclass
class _Scope:
    kind: str  # namespace, class, function, other
    pending: str  # the statement before the brace, which goes on after it
    pending_at: int
    opened_at: int


def function_name(head):
    head = ATTRIBUTE.sub(" ", head)
    macro = TEST_MACRO.match(head.strip())
    if macro:
        return re.sub(r"\s+", " ", macro.group())
    match = NAME.search(head)
    return match.group(1) if match else ""


def _own_line(code, brace):
    return not code[code.rfind("\n", 0, brace) + 1 : brace].strip()


def _has_assignment(head):
    """Returns true if the text contains the = of an initialiser: outside parentheses, and not part of an operator."""
    depth = 0
    for place, letter in enumerate(head):
        depth += (letter in "(<") - (letter in ")>")
        if letter == "=" and depth <= 0 and "operator" not in head[:place]:
            return True
    return False


def _opens(code, brace, head):
    plain = ATTRIBUTE.sub(" ", head).strip()
    if OPENS_NAMESPACE.match(plain):
        return "namespace"
    if OPENS_ENUM.search(plain):
        return "other"
    if OPENS_TYPE.search(plain):
        return "class"
    # A brace between parentheses belongs to an argument, such as a default of {}.
    if "(" not in plain or plain.count("(") != plain.count(")") or _has_assignment(plain):
        return "other"
    if INITIALIZER_LIST.search(plain) and not _own_line(code, brace):
        return "other"
    return "function"


class Scan:
    """The functions and statements of one file."""

    def __init__(self, file):
        self.functions = []
        self.statements = []
        self._file = file
        self._code = file.plain_code
        self._scopes = []
        self._pending = ""
        self._pending_at = 0
        self._run()

    def _in_class(self):
        return bool(self._scopes) and self._scopes[-1].kind == "class"

    def _visible(self):
        return not self._scopes or self._scopes[-1].kind in ("namespace", "class")

    def _run(self):
        end = 0
        for match in re.finditer(r"[{};]", self._code):
            if self._visible():
                self._take(end, match.start())
            end = match.end()
            {"{": self._open, "}": self._close, ";": self._semicolon}[match.group()](match.start())

    def _take(self, start, stop):
        part = self._code[start:stop]
        if not self._pending:
            self._pending_at = start + len(part) - len(part.lstrip())
            part = part.lstrip()
        self._pending += part

    def _open(self, brace):
        if self._visible():
            kind = _opens(self._code, brace, self._pending)
        else:
            kind = "other"
        self._scopes.append(_Scope(kind, self._pending, self._pending_at, brace))
        if kind in ("namespace", "class"):
            self._pending = ""

    def _close(self, brace):
        if not self._scopes:
            return
        scope = self._scopes.pop()
        if scope.kind == "function":
            self._add_function(scope, brace)
            self._pending = ""
        elif scope.kind == "namespace":
            self._pending = ""
        elif self._visible():
            self._pending, self._pending_at = scope.pending + "{}", scope.pending_at

    def _semicolon(self, _):
        if not self._visible():
            return
        text = self._pending.strip()
        if text:
            self.statements.append(Statement(text, self._file.line_of(self._pending_at), self._in_class()))
        self._pending = ""

    def _add_function(self, scope, brace):
        head = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", scope.pending)
        at = scope.pending_at + len(scope.pending) - len(head)
        self.functions.append(
            Function(
                name=function_name(head),
                head=head.strip(),
                first=self._file.line_of(at),
                last=self._file.line_of(brace),
                body=self._code[scope.opened_at : brace + 1],
                body_line=self._file.line_of(scope.opened_at),
                in_class=self._in_class(),
            )
        )


def scan(file):
    """Returns the Scan of @file, which is made once."""
    if not hasattr(file, "_scan"):
        file._scan = Scan(file)
    return file._scan
