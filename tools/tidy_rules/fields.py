# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fields of structs: only the room that declares a struct accesses its fields; comments mark fields that race."""

import collections
import re

from tidy_rules import Finding
from tidy_rules.parse import ATOMICS, facts
from tidy_rules.rooms import room_of

# Structs of the public interface whose fields all code may access.
PUBLIC_VALUES = {"rcu_head", "rtrcu_stats", "list_head", "hlist_head", "hlist_node"}
VALUE = re.compile(r"/[/*][\s*]*Value:")
ROOM_TAG = re.compile(r"@room[ ]+(\w+(?:,[ ]*\w+)*)")
ATOMIC = re.compile(r"/[/*][\s*]*[Aa]tomic\b")
# A field that has one writer at a time; only this writer reads the field plainly.
FOR_OTHERS = re.compile(r"/[/*][\s*]*[Aa]tomic for others\b")
# A field whose comment states when it races; otherwise plain accesses are allowed.
AT_TIMES = re.compile(r"/[/*][\s*]*[Aa]tomic while\b")
# Functions whose writes no other thread can see.
ALONE = re.compile(r"(^|_)(init|after_fork)(_|$)")


def tagged_rooms(comment):
    match = ROOM_TAG.search(comment)
    return set(re.split(r",[ ]*", match.group(1))) if match else set()


def owners(tree, struct, field):
    """Returns the rooms that may access a field; None: all."""
    if VALUE.match(struct.comment) or struct.name in PUBLIC_VALUES:
        return None
    room = room_of(tree.by_path[struct.path])
    if room:
        return {room}
    known = struct.fields.get(field)
    return tagged_rooms(known.comment if known else "") or tagged_rooms(struct.comment)


def is_foreign(tree, access):
    room = room_of(tree.by_path[access.path])
    if room is None or access.struct == "rtrcu_config" and access.is_const:
        return False
    allowed = owners(tree, facts(tree).structs[access.struct], access.field)
    return allowed is not None and room not in allowed


def field_ownership(tree):
    structs = facts(tree).structs
    for access in facts(tree).accesses:
        if not is_foreign(tree, access):
            continue
        name = f"{access.struct}.{access.field}"
        rooms = ", ".join(sorted(owners(tree, structs[access.struct], access.field)))
        owner = f"a field of {rooms}" if rooms else "a field without `@room`"
        message = f"accesses {name}, {owner}; call a function of that room, or move the field"
        yield Finding(access.path, access.line, message, f"{access.path}: {name}")


def shared_words(tree):
    """Checks that a field that races on purpose is marked in its comment."""
    by_field = collections.defaultdict(list)
    for access in sorted(facts(tree).accesses):
        by_field[access.struct, access.field].append(access)
    for struct in facts(tree).structs.values():
        for field in struct.fields.values() if struct.path != ATOMICS else ():
            accesses = by_field[struct.name, field.name]
            is_marked = field.is_wrapped or ATOMIC.match(field.comment)
            if AT_TIMES.match(field.comment):
                continue
            if FOR_OTHERS.match(field.comment):
                accesses = [access for access in accesses if access.how != "plain"]
            yield from plain_accesses(accesses) if is_marked else unmarked(field, accesses)


def unmarked(field, accesses):
    atomic = next((access for access in accesses if access.how == "atomic"), None)
    if atomic:
        name, where = f"{field.struct}.{field.name}", f"{atomic.path}:{atomic.line}"
        message = f"{name} is accessed by a wrapper in {where}; begin its comment with `atomic`, and name its writers"
        yield Finding(field.path, field.line, message, f"{field.path}: {name} unmarked")


def plain_accesses(accesses):
    for access in accesses:
        if access.how in ("plain", "written") and not ALONE.search(access.function):
            name = f"{access.struct}.{access.field}"
            message = f"accesses {name}, which is atomic, without a wrapper of <rtrcu/detail/atomic.h>"
            yield Finding(access.path, access.line, message, f"{access.path}: {name}")


def explain(tree, names):
    """Returns the lines of a table: accesses in src/ to each struct, by room; with @names, to each of their fields."""
    yield f"{'struct':32} {'owner':10} count foreign  by room"
    table = collections.defaultdict(collections.Counter)
    foreign = collections.Counter()
    for access in facts(tree).accesses:
        room = room_of(tree.by_path[access.path])
        if room and (not names or access.struct in names):
            row = f"{access.struct}.{access.field}" if names else access.struct
            table[row][room] += 1
            foreign[row] += is_foreign(tree, access)
    for row in sorted(table, key=lambda row: (-foreign[row], row)):
        struct = facts(tree).structs[row.split(".")[0]]
        owner = owners(tree, struct, row.split(".")[-1])
        said = "all rooms" if owner is None else ",".join(sorted(owner)) or "no room"
        rooms = ", ".join(f"{room} {count}" for room, count in table[row].most_common())
        yield f"{row:32} {said:10} {sum(table[row].values()):5} {foreign[row]:7}  {rooms}"
    count = sum(sum(row.values()) for row in table.values())
    share = 100 * foreign.total() / max(count, 1)
    yield f"{'all':32} {'':10} {count:5} {foreign.total():7}  foreign: {share:.1f} %"


RULES = {"field-ownership": field_ownership, "shared-words": shared_words}
