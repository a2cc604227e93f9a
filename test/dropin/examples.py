#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""liburcu's own examples, compiled with this library's replacement headers, behave on its libraries and on liburcu's as
they do with liburcu's headers on liburcu.

usage: examples.py LIBRARIES INCLUDE...

LIBRARIES: the folder of the libraries that replace liburcu's.  Exit 77: the examples are not installed.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path("/usr/share/doc/liburcu-dev/examples")
LEFT_OUT = {"signal"}  # of a flavour that this library does not have


def libraries_of(source):
    makefile = (source.parent / f"Makefile.{source.stem}").read_text(encoding="utf-8")
    return re.search(r"^LIBS = (.*)$", makefile, re.M).group(1).split()


def compiled(source, name, folder, options):
    program = pathlib.Path(folder) / f"{source.stem}-{name}"
    subprocess.run(["gcc", "-O2", "-Wall", "-Werror", *options, "-o", program, source, *libraries_of(source),
                    "-pthread"], check=True)
    return program


def answer(program, environment):
    """Runs the program; returns its exit code, the sorted words of its output, and its errors.

    The order of the words varies, since the clock seeds hash tables.
    """
    done = subprocess.run([program], check=False, capture_output=True, text=True, timeout=60,
                          env={**os.environ, **environment})
    return done.returncode, sorted(re.findall(r"\S+", done.stdout)), done.stderr


def try_one(source, folder, libraries, includes):
    stock = answer(compiled(source, "stock", folder, []), {})
    program = compiled(source, "ours", folder, [f"-I{include}" for include in includes] + ["-D_LGPL_SOURCE"])
    ours, mixed = answer(program, {"LD_LIBRARY_PATH": libraries}), answer(program, {})
    same = ours == stock == mixed
    return None if same else f"{source.stem}: {ours} here, {mixed} on liburcu; with its headers {stock}"


def main():
    libraries, includes = sys.argv[1], sys.argv[2:]
    sources = [path for path in sorted(EXAMPLES.glob("*/*.c")) if path.stem not in LEFT_OUT]
    if not sources:
        print(f"{EXAMPLES} has none")
        return 77
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda source: try_one(source, folder, libraries, includes), sources)
        problems = [problem for problem in answers if problem]
    print("\n".join(problems))
    print(f"{len(sources)} examples")
    return 1 if problems else 0


sys.exit(main())
