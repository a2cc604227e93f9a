# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names of src/: no cycle of uses between files; no unused field, function or enumerator; one definition per constant.
"""

import collections
import re

from tidy_rules import Finding
from tidy_rules.macros import DEFINE, is_guard
from tidy_rules.parse import facts

PADDING = re.compile(r"^(pad|padding|unused|reserved)(_|\d|$)")


def file_edges(tree):
    """Returns, for each pair of .c files, the first place where one file names a function or variable of the other.
    Exported functions are ignored: only programs call them."""
    attrs = {
        symbol.name: symbol.path
        for symbol in facts(tree).symbols.values()
        if symbol.is_definition and symbol.kind != "enumerator" and not symbol.is_static
    }
    edges = collections.defaultdict(dict)
    for use in sorted(facts(tree).references):
        home = attrs.get(use.name)
        is_inner = home and not use.is_static and not use.name.startswith("rtrcu_")
        if is_inner and home != use.path and use.path.endswith(".c") and home.endswith(".c"):
            edges[use.path].setdefault(home, use)
    return edges


def reachable(edges, start):
    """Returns every file that is reached from @start, with the file through which it was reached first."""
    through = {}
    waiting = collections.deque([start])
    while waiting:
        path = waiting.popleft()
        for target in edges.get(path, ()):
            if target not in through:
                through[target] = path
                waiting.append(target)
    return through


def file_circles(tree):
    edges = file_edges(tree)
    for path, targets in edges.items():
        for target, use in targets.items():
            through = reachable(edges, target)
            if path not in through:
                continue
            way = [path]
            while way[-1] != target:
                way.append(through[way[-1]])
            back = " -> ".join(reversed(way))
            message = f"uses {use.name} of {target}, which leads back: {back}; break the cycle"
            yield Finding(path, use.line, message, f"{path} -> {target}")


def dead_fields(tree):
    used = {(access.struct, access.field) for access in facts(tree).accesses if access.path.startswith("src/")}
    for struct in facts(tree).structs.values():
        for field in struct.fields.values():
            is_used = (struct.name, field.name) in used or PADDING.match(field.name)
            if field.path.startswith("src/") and not is_used:
                name = f"{struct.name}.{field.name}"
                yield Finding(field.path, field.line, f"no code in src/ accesses {name}; delete it", f"field {name}")


def dead_symbols(tree):
    users = collections.defaultdict(set)
    for use in facts(tree).references:
        users[use.name].add(use.path)
    for symbol in facts(tree).symbols.values():
        # The compiler warns about unused static functions, except in headers.
        is_warned_of = symbol.is_static and symbol.path.endswith(".c")
        if not symbol.path.startswith("src/") or symbol.name.startswith(("rtrcu_", "rcu_")) or is_warned_of:
            continue
        used_by = users[symbol.name]
        if symbol.is_static or symbol.kind == "enumerator":
            message = None if used_by else "is used nowhere in src/ and include/; delete it"
        elif not symbol.is_definition:
            message = "is declared and defined nowhere; delete it"
        elif not used_by:
            message = "is used nowhere in src/ and include/; delete it, or move it to the test that uses it"
        else:
            message = None if used_by - {symbol.path} else "is used only in its own file; make it static"
        if message:
            entry = f"{symbol.kind} {symbol.name}"
            yield Finding(symbol.path, symbol.line, f"{entry} {message}", entry)


def dead_code(tree):
    yield from dead_fields(tree)
    yield from dead_symbols(tree)


def one_definition(tree):
    """Finds constants that two files define: they differ as soon as one is changed.  A header's guard is no such
    constant: another file may define it to refuse the header."""
    places = collections.defaultdict(set)
    for file in tree.under("src", "include"):
        for match in DEFINE.finditer(file.code):
            places[match.group(1), is_guard(file, match)].add((file.path, file.line_of(match.start(1))))
    for symbol in facts(tree).symbols.values():
        if symbol.kind == "enumerator":
            places[symbol.name, False].add((symbol.path, symbol.line))
    for (name, _), found in places.items():
        paths = sorted({path for path, _ in found})
        for path, line in found:
            if len(paths) > 1:
                others = ", ".join(other for other in paths if other != path)
                message = f"{name} is defined in {others} too; define it once, in the lowest header that all include"
                yield Finding(path, line, message, f"{path}: {name}")


RULES = {"file-circles": file_circles, "dead-code": dead_code, "one-definition": one_definition}
