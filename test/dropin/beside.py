#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""liburcu's headers and ours in one file, in both orders, as C and as C++: they compile, or fail with one message.

usage: beside.py INCLUDE COMPILER...

A compiler is a command of one word; its name says whether it compiles C or C++.
"""
import itertools
import pathlib
import subprocess
import sys

FLAVOURS = ["urcu.h", "urcu-qsbr.h", "urcu-bp.h", "urcu/urcu-memb.h", "urcu/urcu-mb.h"]
# Headers that belong to no flavour.
STRUCTURES = ["urcu/rculist.h", "urcu/rcuhlist.h", "urcu/rculfhash.h", "urcu/rculfstack.h", "urcu/wfcqueue.h",
              "urcu/flavor.h", "urcu/pointer.h"]
# With inlined read sides, these include the declarations of a flavour's callbacks.
WITH_CALLBACKS = ["urcu/rculfqueue.h", "urcu/cds.h"]
NATIVE = ["rtrcu/rcu.h", "rtrcu/urcu.h", "rtrcu/list.h"]
APART = ["rtrcu/config.h", "rtrcu/task.h"]
SENTENCE = "liburcu's flavours and <rtrcu/rcu.h> are for different files"
# Names of both headers, used after either.
NAMES = """
static int *shared, number;
int use(struct rcu_head *head, void (*func)(struct rcu_head *));
int use(struct rcu_head *head, void (*func)(struct rcu_head *))
{
    rcu_read_lock();
    int *seen = rcu_dereference(shared);
    rcu_read_unlock();
    rcu_assign_pointer(shared, &number);
    call_rcu(head, func);
    rcu_barrier();
    return rcu_xchg_pointer(&shared, &number) == seen;
}
"""
OWN_NAMES = """
int own(void);
int own(void)
{
    rcu_init();
    rcu_set_pointer(&shared, &number);
    int *before = rcu_cmpxchg_pointer(&shared, &number, NULL);
    return rcu_read_ongoing() + (before == &number);
}
"""


class Compiler:
    def __init__(self, command, include):
        cxx = "++" in pathlib.Path(command).name
        language = ["-xc++", "-std=gnu++17"] if cxx else ["-xc", "-std=gnu11"]
        self.command = [command, *language, "-Wall", "-Wextra", "-Wundef", f"-I{include}", "-fsyntax-only", "-"]
        self.name, self.wrong = command, 0

    def errors(self, headers, inlined, body=""):
        """Compiles the headers and @body; returns the number of errors and warnings, and the compiler's text."""
        text = "".join(f"#include <{header}>\n" for header in headers) + body
        options = ["-D_LGPL_SOURCE"] if inlined else []
        done = subprocess.run([*self.command, *options], input=text, capture_output=True, text=True, check=False,
                              env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
        return sum(" error: " in line or " warning: " in line for line in done.stderr.splitlines()), done.stderr

    def complain(self, headers, inlined, what, text):
        self.wrong += 1
        print(f"failed: {self.name}, {' then '.join(headers)}{', inlined' if inlined else ''}: {what}\n{text[:2000]}")

    def is_refused(self, headers, inlined):
        count, text = self.errors(headers, inlined)
        if SENTENCE not in text or count != 1:
            self.complain(headers, inlined, f"one sentence; {count} said", text)

    def compiles(self, headers, inlined, body=""):
        count, text = self.errors(headers, inlined, body)
        if count:
            self.complain(headers, inlined, "it compiles", text)


def check(compiler):
    for flavour, native, inlined in itertools.product(FLAVOURS, NATIVE, (False, True)):
        compiler.is_refused([flavour, native], inlined)
        compiler.is_refused([native, flavour], inlined)
    for flavour, apart in itertools.product(FLAVOURS, APART):
        compiler.compiles([flavour, apart], False)
        compiler.compiles([apart, flavour], False)
    for native, inlined in itertools.product(NATIVE, (False, True)):
        body = NAMES + (OWN_NAMES if native == "rtrcu/urcu.h" else "")
        compiler.compiles([native, *STRUCTURES], inlined, body)
        compiler.compiles([*STRUCTURES, native], inlined, body)
        if compiler.errors(WITH_CALLBACKS, inlined)[0]:
            continue  # inlined read sides compile only as C
        compiler.compiles([native, *WITH_CALLBACKS], inlined, body)
        if inlined:
            compiler.is_refused([*WITH_CALLBACKS, native], inlined)
        else:
            compiler.compiles([*WITH_CALLBACKS, native], inlined, body)


def main():
    compilers = [Compiler(command, sys.argv[1]) for command in sys.argv[2:]]
    for compiler in compilers:
        check(compiler)
    sys.exit(1 if any(compiler.wrong for compiler in compilers) else 0)


main()
