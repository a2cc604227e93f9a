# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shapes of the ordering tags, whose orders are read from the library's source.

A shape describes the accesses of the threads to a few variables.  Which wrapper makes an access, and so its order on
aarch64, is read from the source.  See shapes.txt for the language.
"""

import dataclasses
import pathlib
import re

from machine import as_on_aarch64
from model import Event, Program
from way import around, way_to, words

ATOMICS = "include/rtrcu/detail/atomic.h"
FENCES = "include/rtrcu/detail/fence.h"
FULL = "__atomic_thread_fence(__ATOMIC_SEQ_CST);"
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
ACCESS = (r"#define \w+\([^)]*\)[\s\\]*(RTRCU_UPDATE\()?__atomic_%s(?:_n)?\((?:(?!__)[^;?{}])*"
          r"__ATOMIC_(RELAXED|CONSUME|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)(?:, __ATOMIC_\w+)?\)+")
BUILTIN = re.compile(r"\b__(?:atomic|sync|c11_atomic)_\w+|\batomic_\w+(?=\s*\()|\b_Atomic\b")
MACRO = r"^[ \t]*#[ \t]*(?P<what>define|undef)[ \t]+(?P<name>%s)\b(?P<rest>(?:[^\\\n]|\\.)*)"
CALLS = ("call", "again")
UPDATE = r"(?:relaxed_)?(?:exchange|fetch_\w+|compare_exchange)"
KINDS = {"read": r"load_\w+", "write": r"store_\w+", "set": UPDATE, "or": UPDATE, "and": UPDATE, "add": UPDATE,
         "cas": UPDATE}  # and the patterns of their wrappers' names


class ShapeError(Exception):
    pass


class Source:
    """The tree; @changes: path -> text, for a mutant."""

    def __init__(self, root, changes=None):
        self.root, self.changes, self.seen = pathlib.Path(root), changes or {}, {}
        self.names = set()  # (path, name) of each function and macro that was looked up

    def text(self, path):
        """The text as aarch64's compiler reads it, without comments; the text after them keeps its place."""
        if path not in self.seen:
            text = self.changes.get(path) or (self.root / path).read_text(encoding="utf-8")
            self.seen[path] = as_on_aarch64(COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text))
        return self.seen[path]

    def macros(self, path, name):
        """The #defines and #undefs of names that match @name."""
        return list(re.finditer(MACRO % name, self.text(path), re.M | re.S))

    def with_values(self, text):
        """Names that the fences' header defines for the machine, with their values there."""
        for name in sorted(set(re.findall(r"\bRTRCU_\w+\b", text))):
            found = [" ".join([words(match["rest"]) or match["what"], *around(self.text(FENCES)[:match.start()])])
                     for match in self.macros(FENCES, name)]
            if found:
                self.names.add((FENCES, name))
                text = re.sub(rf"\b{name}\b", f"{name} = {', '.join(found)}", text)
        return text

    def files(self):
        """The paths of all files from which the library is compiled."""
        return [str(file.relative_to(self.root)) for folder in ("include", "src")
                for file in sorted((self.root / folder).rglob("*.[ch]"))]

    def heads(self, path, function):
        """The definitions of functions with this name."""
        text = self.text(path)
        found = re.finditer(rf"^(?!\s|/|#)[^\n;]*\b{re.escape(function)}\(", text, re.M)
        return [head for head in found if 0 < text.find("{", head.end()) < text.find(";", head.end()) % (1 << 40)]

    def attrs(self, path, name):
        """The files whose function or macro a call in @path may mean: its own, else all that other files may call."""
        attrs = []
        for file in self.files():
            if name in self.text(file):
                heads = [head for head in self.heads(file, name)
                         if file == path or file.endswith(".h") or not head[0].startswith("static ")]
                if heads or self.macros(file, re.escape(name)):
                    attrs.append(file)
        return [path] if path in attrs else attrs

    def body(self, path, function):
        """The extent of the function or macro: (begin, end).  No other has its name, and it is not undefined later."""
        self.names.add((path, function))
        text, macros = self.text(path), self.macros(path, re.escape(function))
        defined = [match for match in macros if match["what"] == "define"]
        heads = self.heads(path, function)
        if len(heads) + len(defined) != 1 or macros[-1:] != defined:
            raise ShapeError(f"{path}: there is no function {function}(), or two, or an #undef after it")
        if not defined:
            return heads[0].start(), text.index("\n}\n", heads[0].start())
        if not defined[0]["rest"].startswith("("):
            raise ShapeError(f"{path}: {function} is a macro without arguments")
        return defined[0].start(), defined[0].end()

    def definition(self, path, name):
        """The text from which orders are read, which must be the only possible definition."""
        begin, end = self.body(path, name)
        unmet = around(self.text(path)[:begin])
        if unmet:
            raise ShapeError(f"{path}: what {name}() is depends on {' and '.join(unmet)}")
        return self.text(path)[begin:end]

    def fence_is_full(self):
        before, fence, _ = self.definition(FENCES, "rtrcu_fence_full").partition(FULL)
        return bool(fence) and not way_to(before)

    def update_fences(self):
        """Whether RTRCU_UPDATE() always fences after its operation."""
        definition = self.definition(ATOMICS, "RTRCU_UPDATE")
        head = re.match(r"#define \w+\((\w+)\)", definition)
        if not head:
            return False
        before, fence, passed = definition[head.end():].rpartition(FULL)
        does = re.compile(rf"\b(?<!__typeof__\(){head[1]}\b")
        return bool(fence and does.search(before)) and not does.search(passed) and not way_to(head[0] + before)

    def wrapper_orders(self, name):
        """The orders of rtrcu_<name>() on aarch64, by <rtrcu/detail/atomic.h>."""
        builtin = re.sub(r"^relaxed_|(?<=load)_\w+|(?<=store)_\w+", "", name)
        match = re.fullmatch(ACCESS % builtin, words(self.definition(ATOMICS, f"rtrcu_{name}")))
        if not match:
            raise ShapeError(f"{ATOMICS}: rtrcu_{name}() is not one access, or one in RTRCU_UPDATE()")
        update, order = match.groups()
        orders = {"RELAXED": set(), "CONSUME": {"acquire"}, "ACQUIRE": {"acquire"}, "RELEASE": {"release"},
                  "ACQ_REL": {"acquire", "release"}, "SEQ_CST": {"acquire", "release"}}[order]
        return frozenset(orders | {"fence"} if update and self.update_fences() else orders)


@dataclasses.dataclass
class Line:
    """One line of a shape."""

    number: int
    mark: str  # `!`: the shape must not hold without this order; `+`: not without all orders that are marked so
    register: str
    words: list
    place: tuple  # path, function, argument; or None
    found: tuple = None  # its place in the source: path, begin, end
    way: tuple = ()  # the conditions that decide whether it is reached there

    def called(self):
        """The function or macro whose effect the line assumes, or None."""
        return re.match(r"\w+", self.place[2])[0] if self.words[0] in (*CALLS, "heavy") else None


@dataclasses.dataclass
class Shape:
    tag: str
    what: str
    initial: dict
    threads: list  # of lists of Line
    forbidden: list  # texts


LINE = re.compile(r"^\s*(?P<mark>[!+])?\s*(?:(?P<register>r\d+)\s*=\s*)?(?P<words>[^@]*?)\s*(?:@\s*(?P<place>.*))?$")


def parse(text):
    shapes = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.split("#")[0].rstrip()
        head, _, rest = line.strip().partition(" ")
        if head == "shape":
            tag, _, what = rest.partition(" ")
            shapes.append(Shape(tag, what, {}, [], []))
        elif head == "var":
            shapes[-1].initial.update((n, int(v)) for n, v in (pair.split("=") for pair in rest.split()))
        elif head == "thread":
            shapes[-1].threads.append([])
        elif head == "forbidden":
            shapes[-1].forbidden.append(rest)
        elif line.strip():
            match = LINE.match(line)
            place = tuple(match["place"].split(None, 2)) if match["place"] else None
            shapes[-1].threads[-1].append(Line(number, match["mark"] or "", match["register"] or "",
                                               match["words"].split(), place))
    return shapes


def find(source, line, passed):
    """The name of the first wrapper at the line's place from @passed[path, function] on."""
    path, function, argument = (*line.place, "")[:3]
    head, end = source.body(path, function)
    begin = max(head, passed.get((path, function), 0))
    kind = line.words[0]
    if kind == "fence" and not source.fence_is_full():
        return None
    name = "fence_full" if kind == "fence" else r"\w+"
    pattern = r"(?<!\w)" + (re.escape(argument) if kind == "heavy" else rf"rtrcu_({name})\({re.escape(argument)}(?!\w)")
    match = re.compile(pattern).search(source.text(path), begin, end)
    if not match and kind not in ("fence", "heavy"):
        raise ShapeError(f"line {line.number}: {path}: {function}() has no access to {argument}, or not in this order")
    if match and kind in KINDS and not re.fullmatch(KINDS[kind], match.group(1)):
        raise ShapeError(f"line {line.number}: {path}: {function}(): rtrcu_{match.group(1)}() is no `{kind}`")
    if match:
        passed[path, function] = match.end()
        line.found = (path, match.start(), match.end())
        alike = [one.start() for one in re.compile(pattern).finditer(source.text(path), head, end)]
        line.way = way_of(source, path, head, match.start(), alike)
    return match.group(1) if match and kind != "heavy" else kind if match else None


def find_call(source, line, passed):
    """The calls of the half are after its earlier steps, and, unless given again, not before."""
    path, function, call = line.place
    head, end = source.body(path, function)
    text, begin = source.text(path), max(head, passed.get((path, function), 0))
    calls = [match.start() for match in re.compile(rf"(?<!\w){re.escape(call)}").finditer(text, head, end)]
    at = next((here for here in calls if here >= begin), -1)
    if at < 0 or (at != calls[0] and line.words[0] == "call"):
        raise ShapeError(f"line {line.number}: {path}: {function}() has no {call} here, or one before it")
    passed[path, function] = at + len(call)
    line.found, line.way = (path, at, at + len(call)), way_of(source, path, head, at, calls)


def way_of(source, path, head, at, alike):
    """The conditions that decide whether the place @at is reached; and its index, if several in the function are
    @alike.
    """
    ways = around(source.text(path)[:head]) + way_to(source.text(path)[head:at])
    which = [f"{sum(start <= at for start in alike)} of {len(alike)} there"] if len(alike) > 1 else []
    return tuple([source.with_values(text) for text in ways] + which)


def event_of(source, line, passed):
    """The event, or None: a fence that the source does not have, or no event."""
    kind, *rest = line.words
    if kind in CALLS:
        return find_call(source, line, passed)
    if kind == "only":
        values = [int(v) for v in rest[1:]]
        return Event("only", register=rest[0], value=values[0], expected=values[-1])
    orders = frozenset()
    if line.place:
        name = find(source, line, passed)
        if name is None:
            return None
        orders = source.wrapper_orders(name) if kind in KINDS else orders
    if kind in ("fence", "heavy"):
        return Event(kind)
    numbers = [int(v) for v in rest[1:]]
    expected, value = (numbers + [0, 0])[:2] if kind == "cas" else (0, (numbers + [0])[0])
    return Event(kind, rest[0], value, expected, line.register, orders)


def program(shape, source):
    threads = []
    for lines in shape.threads:
        passed = {}
        threads.append([event for event in (event_of(source, line, passed) for line in lines) if event])
    conditions = [compile(text, f"{shape.tag}: forbidden", "eval") for text in shape.forbidden]

    def holds(condition):
        def test(registers, final):
            names = {**{f"r{i}": None for i in range(1, 10)}, **registers}
            if final is None: # may it hold, whatever the variables come to?
                return eval(condition, {"final": Any()}, names)
            return eval(condition, {"final": final}, names)
        return test

    return Program(shape.initial, threads, [holds(condition) for condition in conditions])


class Any(dict):
    """A final state in which every variable has every value."""

    class Value:
        def __eq__(self, other):
            return True

        __hash__ = None

    def __missing__(self, key):
        return Any.Value()
