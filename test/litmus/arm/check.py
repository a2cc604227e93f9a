#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Check the ordering tags' shapes on the model of aarch64, with the orders that the source has:

    check.py ROOT [--renew-ways]

First the model is checked with programs whose outcome is known.  Then every shape must hold.  Then each order of a
shape is removed in a copy of the source's text: a read-modify-write, an acquire or a release becomes relaxed, a fence
is deleted.  A line marked `!` must fail without its order, other lines must not, and all lines marked `+` must fail
together.  So the marks show which orders each shape needs.

A shape assumes that its places are reached. ways.txt lists the conditions that decide this in their functions and
around these, and must agree with the source.  A new condition, loop or return before a place, or a second place that is
alike, requires a review, and then --renew-ways.  Exit 0: the source agrees with the shapes; 1: it does not; 2: wrong
usage.
"""

import copy
import pathlib
import re
import sys

sys.dont_write_bytecode = True
import known  # noqa: E402
import model  # noqa: E402
import source as library  # noqa: E402
from machine import MACHINE  # noqa: E402
from way import words  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
WEAKER = {"load_acquire": "load_relaxed", "load_consume": "load_relaxed", "store_release": "store_relaxed"}
explored = {}  # a program -> the forbidden outcomes that it has


def weakened(source, line):
    """The source without the order of @line: (path, text); None: the line has no order to remove."""
    path, begin, end = line.found
    text = source.text(path)
    piece = text[begin:end]
    kind = line.words[0]
    if kind in library.CALLS:
        return None
    if kind == "fence":
        return path, text[:begin] + piece.replace("rtrcu_fence_full(", "rtrcu_fence_light(") + text[end:]
    if kind == "heavy":
        return path, text[:begin] + "(0)" + text[end:]
    name = re.match(r"rtrcu_(\w+)", piece).group(1)
    if kind in ("read", "write"):
        return (path, text[:begin] + piece.replace(name, WEAKER[name], 1) + text[end:]) if name in WEAKER else None
    return path, text[:begin] + piece.replace(name, "relaxed_" + name, 1) + text[end:]


def with_relaxed_updates(source):
    """The real wrappers, and for the mutants relaxed versions of the read-modify-writes."""
    text = source.text(library.ATOMICS)
    for name in ("exchange", "fetch_add", "fetch_or", "fetch_and", "compare_exchange"):
        text += f"\n#define rtrcu_relaxed_{name}(p) __atomic_{name}(p, __ATOMIC_RELAXED)\n"
    return text


def fails(shape, source):
    program = library.program(shape, source)
    does = (tuple(program.initial.items()), tuple(map(tuple, program.threads)), tuple(shape.forbidden))
    if does not in explored:
        explored[does] = sorted({condition for condition, _ in model.outcomes(program)})
    return explored[does]


def holds_without(root, shape, source, lines):
    """Whether the shape holds in a source without the orders of @lines; None: one of the lines has no order."""
    changes = {library.ATOMICS: with_relaxed_updates(source)}
    changed = source
    # last first, so that the earlier places stay valid
    for line in sorted(lines, key=lambda line: line.found[1], reverse=True):
        change = weakened(changed, line)
        if change is None:
            return None
        changes[change[0]] = change[1]
        changed = library.Source(root, changes)
    return not fails(copy.deepcopy(shape), library.Source(root, changes))


def check_marks(root, shape, source):
    """The disagreements between the source and the lines' marks, and how many orders are needed."""
    wrong, needed = [], 0
    lines = [line for thread in shape.threads for line in thread if line.found]
    for line in lines:
        holds = holds_without(root, shape, source, [line])
        where = f"line {line.number}: {' '.join(line.words)} @ {' '.join(line.place)}"
        needed += line.mark != "" and holds is not None
        if holds is None and line.mark:
            wrong.append(f"{where}: is marked, and has no order to take away")
        elif holds is False and line.mark != "!":
            wrong.append(f"{where}: without its order the forbidden outcome comes out; mark it `!`")
        elif holds and line.mark == "!":
            wrong.append(f"{where}: without its order the forbidden outcome does not come out; take the `!` away")
    together = [line for line in lines if line.mark == "+"]
    if together and holds_without(root, shape, source, together):
        wrong.append("without the orders of all lines marked `+` the forbidden outcome does not come out")
    if needed == 0:
        wrong.append("no order of it is needed; a shape that cannot fail proves nothing")
    return wrong, needed


def check_shape(root, shape):
    source = library.Source(root)
    wrong = [f"the model allows `{shape.forbidden[condition]}`" for condition in fails(shape, source)]
    needed = 0
    if not wrong:
        wrong, needed = check_marks(root, shape, source)
    print(f"{shape.tag:4} {'WRONG' if wrong else 'holds'}, needs {needed} orders: {shape.what}")
    for text in wrong:
        print(f"     {text}")
    return len(wrong)


def ways_of(source, shapes):
    """The conditions that decide whether each place is reached: a line for each place that has any."""
    lines = set()
    for shape in shapes:
        try:
            library.program(shape, source)
        except library.ShapeError:
            continue  # check_shape() reports it
        lines |= {f"{' '.join(line.place)}: {' ; '.join(line.way)}" for thread in shape.threads for line in thread
                  if line.found and line.way}
    return sorted(lines)


def check_ways(source, shapes, renew):
    file = HERE / "ways.txt"
    now = ways_of(source, shapes)
    if renew:
        head = ("# SPDX-License-Identifier: MIT OR Apache-2.0\n"
                "# What decides whether a place of shapes.txt is reached, and which it is of those alike there;\n"
                "# made by check.py --renew-ways.\n")
        file.write_text(head + "\n".join(now) + "\n", encoding="utf-8")
    known_ways = {line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")}
    wrong = [f"not in ways.txt: {line}" for line in now if line not in known_ways]
    wrong += [f"no more in the source: {line}" for line in sorted(known_ways.difference(now))]
    for text in wrong:
        print(text)
    return len(wrong)


def check_calls(source, shapes):
    """A line assumes the effect of the function that it calls, and another line must describe that effect, from the
    text of its definition.  Functions that the library does not define are not checked.

    """
    lines = [line for shape in shapes for thread in shape.threads for line in thread if line.found]
    told = {line.place[:2] for line in lines if line.called() != line.place[1]}
    wrong = set()
    for path, name in {(line.place[0], line.called()) for line in lines if line.called()}:
        attrs = source.attrs(path, name)
        source.names.add(("", name))
        if len(attrs) > 1:
            wrong.add(f"{path}: {name}() may be that of {' or '.join(attrs)}")
        wrong |= {f"{home}: no line says what {name}() does" for home in attrs if (home, name) not in told}
    for text in sorted(wrong):
        print(text)
    return len(wrong)


def check_macros(source):
    """No macro elsewhere has a name that was looked up in @source, or that the compiler predefines."""
    names = {name for _, name in source.names}
    wrong = []
    for path in source.files():
        wrong += [f"{path}: {words(macro[0])}: this name is read elsewhere" for macro in source.macros(path, r"\w+")
                  if (macro["name"] in names and (path, macro["name"]) not in source.names)
                  or macro["name"] in MACHINE or re.match("__(?:atomic|ATOMIC)_", macro["name"])]
    for text in wrong:
        print(text)
    return len(wrong)


def check_builtins(source):
    """The compiler's atomic builtins occur only in files whose orders are read: elsewhere an order would be missed."""
    wrong = [f"{path}: {builtin}(): only what {library.ATOMICS} makes of it is read" for path in source.files()
             if path not in (library.ATOMICS, library.FENCES) for builtin in library.BUILTIN.findall(source.text(path))]
    for text in wrong:
        print(text)
    return len(wrong)


def check_ledger(root, tags):
    """Each tag has a shape, and the mutants that the ledger names exist."""
    ledger = (root / "docs/memory-ordering.md").read_text(encoding="utf-8")
    wrong = [f"{tag} has no shape" for tag in sorted(set(re.findall(r"^\| (O\d+) ", ledger, re.M)) - tags)]
    for tag, mutants in re.findall(r"^\| (O\d+) \|([^|]*)\|[^|]*\|$", ledger, re.M):
        for mutant in re.findall(r"`([a-z-]+)`", mutants):
            if not (root / f"test/explore/mutants/{mutant}.mutant").exists():
                wrong.append(f"{tag}: the ledger names a mutant {mutant}, which does not exist")
    for text in wrong:
        print(text)
    return len(wrong)


def main(arguments):
    if len(arguments) not in (1, 2) or arguments[1:] not in ([], ["--renew-ways"]):
        print("usage: check.py ROOT [--renew-ways]", file=sys.stderr)
        return 2
    wrong = 0
    for text in known.wrong():
        print(text)
        wrong += 1
    shapes = library.parse((HERE / "shapes.txt").read_text(encoding="utf-8"))
    for shape in shapes:
        try:
            wrong += check_shape(arguments[0], shape)
        except library.ShapeError as error:
            print(f"{shape.tag}: {error}")
            wrong += 1
    source = library.Source(arguments[0])
    if wrong == 0:
        wrong += check_calls(source, shapes)
    wrong += check_ways(source, copy.deepcopy(shapes), len(arguments) == 2)
    wrong += check_macros(source)
    wrong += check_builtins(source)
    wrong += check_ledger(pathlib.Path(arguments[0]), {shape.tag for shape in shapes})
    print(f"{wrong} things are not as the shapes say" if wrong else "every shape holds, and needs what it says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
