# SPDX-License-Identifier: MIT OR Apache-2.0
"""Small programs whose outcome on aarch64 is known, to check the model."""

from model import Event, Program, outcomes

ACQUIRE, RELEASE, BOTH = frozenset({"acquire"}), frozenset({"release"}), frozenset({"acquire", "release"})
FENCED = BOTH | {"fence"}
FENCE, HEAVY = Event("fence"), Event("heavy")


def write(variable, orders=frozenset()):
    return Event("write", variable, 1, orders=orders)


def read(register, variable, orders=frozenset()):
    return Event("read", variable, register=register, orders=orders)


def update(register, variable, orders):
    return Event("set", variable, 1, register=register, orders=orders)


def failed(register, variable):
    """An update that finds another value than it expects, and stores nothing."""
    return Event("cas", variable, 3, 2, register, FENCED)


def only(register):
    return Event("only", register=register, value=1, expected=1)


# name, whether the outcome is allowed, threads, the outcome by register
PROGRAMS = [
    ("MP", True, [[write("x"), write("y")], [read("r1", "y"), read("r2", "x")]], {"r1": 1, "r2": 0}),
    ("MP+rel+po", True, [[write("x"), write("y", RELEASE)], [read("r1", "y"), read("r2", "x")]], {"r1": 1, "r2": 0}),
    ("MP+rel+ctrl", True, [[write("x"), write("y", RELEASE)], [read("r1", "y"), only("r1"), read("r2", "x")]],
     {"r1": 1, "r2": 0}),
    ("MP+po+acq", True, [[write("x"), write("y")], [read("r1", "y", ACQUIRE), read("r2", "x")]], {"r1": 1, "r2": 0}),
    ("MP+rel+acq", False, [[write("x"), write("y", RELEASE)], [read("r1", "y", ACQUIRE), read("r2", "x")]],
     {"r1": 1, "r2": 0}),
    ("SB", True, [[write("x"), read("r1", "y")], [write("y"), read("r2", "x")]], {"r1": 0, "r2": 0}),
    ("SB+rel+acq", True, [[write("x", RELEASE), read("r1", "y", ACQUIRE)], [write("y", RELEASE),
                                                                            read("r2", "x", ACQUIRE)]],
     {"r1": 0, "r2": 0}),
    ("SB+fence+po", True, [[write("x"), FENCE, read("r1", "y")], [write("y"), read("r2", "x")]], {"r1": 0, "r2": 0}),
    ("SB+fences", False, [[write("x"), FENCE, read("r1", "y")], [write("y"), FENCE, read("r2", "x")]],
     {"r1": 0, "r2": 0}),
    ("SB+heavy+po", False, [[write("x"), HEAVY, read("r1", "y")], [write("y"), read("r2", "x")]], {"r1": 0, "r2": 0}),
    ("SB+updates", True, [[update("r3", "x", BOTH), read("r1", "y")], [update("r4", "y", BOTH), read("r2", "x")]],
     {"r1": 0, "r2": 0}),
    ("SB+updates+fences", False, [[update("r3", "x", FENCED), read("r1", "y")],
                                  [update("r4", "y", FENCED), read("r2", "x")]], {"r1": 0, "r2": 0}),
    ("MP+update+acq", True, [[write("x"), update("r3", "y", frozenset({"fence"}))],
                             [read("r1", "y", ACQUIRE), read("r2", "x")]], {"r1": 1, "r2": 0}),
    ("MP+update+rel+acq", False, [[write("x"), update("r3", "y", FENCED)],
                                  [read("r1", "y", ACQUIRE), read("r2", "x")]], {"r1": 1, "r2": 0}),
    ("MP+rel+failed", True, [[write("x"), write("y", RELEASE)], [read("r1", "y"), failed("r2", "x")]],
     {"r1": 1, "r2": 0}),
    ("LB", True, [[read("r1", "x"), write("y")], [read("r2", "y"), write("x")]], {"r1": 1, "r2": 1}),
    ("LB+ctrls", False, [[read("r1", "x"), only("r1"), write("y")], [read("r2", "y"), only("r2"), write("x")]],
     {"r1": 1, "r2": 1}),
    ("IRIW", True, [[write("x")], [write("y")], [read("r1", "x"), read("r2", "y")], [read("r3", "y"), read("r4", "x")]],
     {"r1": 1, "r2": 0, "r3": 1, "r4": 0}),
    ("IRIW+acqs", False, [[write("x")], [write("y")], [read("r1", "x", ACQUIRE), read("r2", "y")],
                          [read("r3", "y", ACQUIRE), read("r4", "x")]], {"r1": 1, "r2": 0, "r3": 1, "r4": 0}),
    ("CoRR", False, [[write("x")], [read("r1", "x"), read("r2", "x")]], {"r1": 1, "r2": 0}),
    ("2 updates", False, [[update("r1", "x", frozenset())], [update("r2", "x", frozenset())]], {"r1": 0, "r2": 0}),
    ("WRC+rel+acq", False, [[write("x")], [read("r1", "x"), write("y", RELEASE)],
                            [read("r2", "y", ACQUIRE), read("r3", "x")]], {"r1": 1, "r2": 1, "r3": 0}),
]


def is_seen(wanted):
    return lambda registers, final: all(registers.get(name) == value for name, value in wanted.items())


def wrong():
    """Returns the programs for which the model does not have the expected outcome."""
    names = []
    for name, expected, threads, wanted in PROGRAMS:
        program = Program({"x": 0, "y": 0}, threads, [is_seen(wanted)])
        if any(True for _ in outcomes(program)) != expected:
            names.append(f"{name}: the model {'forbids' if expected else 'allows'} it")
    return names
