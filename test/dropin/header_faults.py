#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Faults in this library's replacement headers, each of which one of their tests must find.

usage: header_faults.py LIBRARIES INCLUDE...

LIBRARIES: the folder of the libraries that replace liburcu's.  INCLUDE: as in headers.py.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent


def names_and_places(folders, _):
    """Runs headers.py on the changed headers."""
    command = [sys.executable, HERE / "headers.py", HERE / "headers.txt", *folders, "--"]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def program(name, flavour):
    """Runs a program of this folder whose readers use the changed headers."""

    def run(folders, libraries):
        work = folders[0].parent
        options = ["-O2", "-D_GNU_SOURCE", "-DHEADER=<urcu.h>", "-DQUIESCES=0"]
        options += ["-DRCU_MB"] if flavour == "mb" else []
        root = f"-I{HERE.parent.parent}/include"
        sides = {"inlined": [root, "-D_LGPL_SOURCE"], "called": [root], "own": [f"-I{folder}" for folder in folders]}
        for side, more in sides.items():
            subprocess.run(["gcc", *options, *more, f"-DSIDE={side}", "-c", "-o", work / f"{side}.o", HERE / "side.c"],
                           check=True)
        objects = [work / f"{side}.o" for side in sides]
        subprocess.run(["gcc", *options, root, "-o", work / name, HERE / f"{name}.c", *objects, f"-lurcu-{flavour}",
                        "-pthread"], check=True)
        return subprocess.run([work / name], check=False, capture_output=True, text=True, timeout=100,
                              env={**os.environ, "LD_LIBRARY_PATH": str(libraries)})

    return run


# The fault, its file, the original text, the replacement; the check that finds it, and its message.
FAULTS = [
    ("a name is missing", "urcu/urcu-memb.h", "int urcu_memb_set_cpu_call_rcu_data(", "int urcu_memb_set_cpu_data(",
     names_and_places, "urcu_memb_set_cpu_call_rcu_data is missing"),
    ("a short name is missing", "urcu/map/urcu-bp.h", "#define rcu_defer_barrier_thread ", "#define rcu_defer_thread ",
     names_and_places, "rcu_defer_barrier_thread is missing"),
    ("a call has another type", "urcu/urcu-qsbr.h", "int urcu_qsbr_create_all_cpu_call_rcu_data(unsigned long",
     "int urcu_qsbr_create_all_cpu_call_rcu_data(unsigned int", names_and_places,
     "is int urcu_qsbr_create_all_cpu_call_rcu_data (unsigned int)"),
    ("a flag lies elsewhere", "urcu/static/urcu-qsbr.h", "unused[17]", "unused[16]", names_and_places,
     "urcu_qsbr_reader.waiting: "),
    ("a table lacks a field", "urcu/flavor.h", "    void (*barrier)(void);\n", "", names_and_places,
     "layout.c"),
    ("a sleeper is not woken", "urcu/static/urcu-memb.h", "futex) == -1", "futex) == -2", program("waking", "memb"),
     "by_own >= ENOUGH"),
    ("a sleeper is not woken", "urcu/static/urcu-mb.h", "futex) == -1", "futex) == -2", program("waking", "mb"),
     "by_own >= ENOUGH"),
    ("an inner unlock ends the outer section", "rtrcu/detail/nesting.h", "word, before - 1);\n        return",
     "word, 0);\n        return", program("readers", "memb"), "== ALIVE"),
    ("an inner lock begins anew", "rtrcu/detail/nesting.h", "(uint32_t)before != 0", "before == UINT64_MAX",
     program("readers", "mb"), "== ALIVE"),
]


def is_found(fault, libraries, folders):
    what, file, old, new, see, says = fault
    with tempfile.TemporaryDirectory() as work:
        copies = [pathlib.Path(work) / str(number) for number in range(len(folders))]
        for folder, copy in zip(folders, copies):
            shutil.copytree(folder, copy)
        places = [copy / file for copy in copies if (copy / file).exists()]
        text = places[0].read_text(encoding="utf-8")
        if old not in text:
            return f"{file} has no `{old}`"
        places[0].write_text(text.replace(old, new), encoding="utf-8")
        done = see(copies, libraries)
    said = done.stdout + done.stderr
    print(f"{what} ({file}): exit {done.returncode}")
    return None if done.returncode and says in said else f"{what}: not found\n{said[-1500:]}"


def main():
    libraries, folders = pathlib.Path(sys.argv[1]), sys.argv[2:]
    problems = [problem for problem in (is_found(fault, libraries, folders) for fault in FAULTS) if problem]
    print("\n".join(problems))
    return 1 if problems else 0


sys.exit(main())
