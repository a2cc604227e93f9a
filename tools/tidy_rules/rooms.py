# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rooms of src/: the rooms that each may include, rooms that may wait, places of state and of #if."""

import re

from tidy_rules import Finding
from tidy_rules.scan import ATTRIBUTE, scan

# Lowest first: a room includes only rooms to its left.
ROOMS = ["plat", "base", "config", "reader", "parked", "gp", "section", "callback", "watch", "work", "turn",
         "serve", "driver", "urcu", "srcu", "api", "table", "lpm"]
WAITING = {"plat", "work", "turn", "serve", "driver", "urcu", "srcu", "api", "table", "lpm"}
FRONT_ENDS = {"cxx", "rust", "compat"}
STATE_FILE = "src/api/domain.c"
THREAD_FILE = "src/api/begin.c"  # the thread-local block
TABLE_FILE = "src/table/retire.c"  # the resizer, above the domain

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)
WAITS = re.compile(
    r"\b(plat_futex_\w+|plat_clock_sleep|plat_thread_create|futex|sleep|usleep|nanosleep|clock_nanosleep|sched_yield"
    r"|pthread_(?:create|join|cond_\w+|mutex_lock|rwlock_\w+|barrier_wait)|thrd_\w+|mtx_lock|cnd_\w+"
    r"|sem_(?:wait|timedwait|clockwait|post)|poll|ppoll|select|pselect|epoll_p?wait|eventfd_\w+|pause|sigwait\w*"
    r")\s*\("
)
CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)\b[ \t]*([^\n]*)", re.M)


def room_of(file):
    return file.parts[1] if file.parts[0] == "src" and len(file.parts) > 2 else None


def includes(file):
    """Returns each include as (line, file, is in quotes)."""
    for match in INCLUDE.finditer(file.code_and_strings):
        yield file.line_of(match.start(1)), match.group(2), match.group(1) == '"'


def direction_in_room(file, room, line, what):
    target = what.split("/")[0] if "/" in what else room
    if target == room or target == "rtrcu":
        return None
    if room not in ROOMS:
        return Finding(file.path, line, f"src/{room} is not a room; the rooms are: {' '.join(ROOMS)}")
    if target not in ROOMS:
        return Finding(file.path, line, f'includes "{what}", which is no room; the rooms are: {" ".join(ROOMS)}')
    if ROOMS.index(target) > ROOMS.index(room):
        return Finding(file.path, line, f"{room} includes {target}, a higher room; take an argument instead")
    if what != f"{target}/{target}.h":
        return Finding(file.path, line, f'includes "{what}"; another room is entered through "{target}/{target}.h"')
    return None


def room_direction(tree):
    for file in tree.c_files:
        room = room_of(file)
        for line, what, quoted in includes(file):
            if room:
                finding = direction_in_room(file, room, line, what) if quoted else None
            elif file.parts[0] == "include":
                inside = not quoted and what.split("/")[0] in ("rtrcu", "sys", "linux", what)
                message = f"includes {what}; an installed header includes only <rtrcu/...> and the system's headers"
                finding = None if inside else Finding(file.path, line, message)
            elif file.parts[0] in FRONT_ENDS:
                inner = what.split("/")[0] in ROOMS or "src/" in what
                message = f"includes {what}; a front end uses only <rtrcu/...>"
                finding = Finding(file.path, line, message) if inner else None
            else:
                continue
            if finding:
                yield finding


def no_waits(tree):
    for file in tree.under("src"):
        room = room_of(file)
        if room in WAITING or file.path.startswith("src/base/lock."):
            continue
        for match in WAITS.finditer(file.code):
            message = f"{match.group(1)}() waits, wakes or makes a thread below work/; return the action to the caller"
            yield Finding(file.path, file.line_of(match.start()), message)


def is_mutable_variable(text):
    """Returns true if this declaration outside functions defines an object that can change."""
    plain = ATTRIBUTE.sub(" ", text).strip()
    if re.match(r"(typedef|extern|using|template|friend|static_assert|_Static_assert)\b", plain):
        return False
    if re.match(r"(struct|union|enum|class)\b([^=]*\{\}|\s+\w+)\s*$", plain):
        return False
    declarator = plain.split("=")[0]
    if re.search(r"\bconstexpr\b", declarator):
        return False
    # A function's declaration; `(*name)(...)` is a pointer to one, and const there follows the *.
    if re.search(r"^[^(]*\((?!\s*\*)", declarator):
        return False
    pointer = re.search(r"\(\s*\*\s*(const\b)?", declarator)
    if pointer:
        return pointer.group(1) is None
    # const must follow the last *, if there is one.
    return not re.search(r"\bconst\b", declarator.rsplit("*", 1)[-1])


def file_scope(tree):
    for file in tree.under("src"):
        if file.path in (STATE_FILE, THREAD_FILE, TABLE_FILE):
            continue
        for statement in scan(file).statements:
            if not statement.in_class and is_mutable_variable(statement.text):
                words = " ".join(statement.text.split())[:50]
                message = f"`{words}` is state outside {STATE_FILE}; put it there, or make it const"
                yield Finding(file.path, statement.line, message)
        for function in scan(file).functions:
            for match in re.finditer(r"(?<![\w.])static\s+([^;{}]*?)\s*(?:=|;)", function.body):
                if is_mutable_variable(match.group(1)):
                    line = function.body_line + function.body.count("\n", 0, match.start())
                    message = f"static `{' '.join(match.group(1).split())}` is state outside {STATE_FILE}; put it there"
                    yield Finding(file.path, line, message)


def is_guard(file, match):
    """Returns true for `#ifndef X` directly followed by `#define X`."""
    following = re.match(r"\s*#\s*define\s+(\w+)", file.code[match.end() :])
    return match.group(1) == "ifndef" and following is not None and following.group(1) == match.group(2).strip()


def conditionals(tree):
    for file in tree.under("src", "include"):
        if room_of(file) == "plat" or file.path.startswith("include/rtrcu/detail/"):
            continue
        if re.match(r"src/base/(check|trace)\.h$", file.path):
            continue
        public = file.path.startswith("include/")
        for match in CONDITIONAL.finditer(file.code):
            what = match.group(2).strip()
            for_cxx = re.match(r"(defined\()?__cplusplus\b", what)
            allowed = is_guard(file, match) or for_cxx or (public and what == "RTRCU_DEBUG")
            if not allowed:
                message = f"#{match.group(1)} {what}: only in plat/, detail/ and base/check.h; ask a function there"
                yield Finding(file.path, file.line_of(match.start(1)), message)


RULES = {
    "room-direction": room_direction,
    "no-waits": no_waits,
    "file-scope": file_scope,
    "conditionals": conditionals,
}
