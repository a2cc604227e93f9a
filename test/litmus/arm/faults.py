#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Check that check.py reports every fault of faults/, or the faults NAME...: faults.py ROOT [NAME...].

A fault's file has the format of a torture mutant (test/torture/make_mutant.py), with a line `says: TEXT`.  check.py
must print TEXT about the source with the fault: that a forbidden outcome is possible, or that the source differs from
the code that check.py expects.  Exit 0: every fault is reported, and the source without a fault passes; 1: otherwise,
or if a fault no longer fits the source; 2: wrong usage.
"""

import contextlib
import functools
import io
import multiprocessing
import os
import pathlib
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "torture"))
import check  # noqa: E402
import make_mutant  # noqa: E402


def checked(root, texts):
    """Exit status and output of check.py over a copy of @root with the files @texts of src/."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for name in ("src", "include"):
            shutil.copytree(root / name, copy / name)
        for name in ("docs", "test"):
            (copy / name).symlink_to(root / name)
        for name, text in texts.items():
            (copy / "src" / name).write_text(text, encoding="utf-8")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = check.main([str(copy)])
        return status, output.getvalue()


def unseen(root, spec):
    """Why the fault counts as not reported; None: it is reported."""
    try:
        keys, edits = make_mutant.parse(spec.read_text(encoding="utf-8"))
        texts = make_mutant.patched(edits, root / "src")
    except (OSError, make_mutant.SpecError) as error:
        return str(error)
    if not keys.get("says"):
        return "it has no line `says:`"
    status, output = checked(root, texts)
    if status == 1 and keys["says"] in output:
        return None
    wrong = "\n".join(line for line in output.splitlines() if "holds, needs" not in line)
    return f"exit status {status}, and `{keys['says']}` must be in\n{wrong}"


def main(arguments):
    root = pathlib.Path(arguments[0]).resolve() if arguments else None
    specs = [HERE / "faults" / f"{name}.mutant" for name in arguments[1:]]
    if not root or not all(spec.exists() for spec in specs):
        print("usage: faults.py ROOT [NAME...]", file=sys.stderr)
        return 2
    specs = specs or sorted((HERE / "faults").glob("*.mutant"))
    status, output = checked(root, {})  # before the others start, so that they inherit its explored programs
    if status != 0:
        print(f"without a fault check.py exits {status}:\n{output}")
        return 1
    missed = 0
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        for spec, why in zip(specs, pool.imap(functools.partial(unseen, root), specs)):
            print(f"{spec.stem}: " + (f"NOT seen: {why}" if why else "seen"), flush=True)
            missed += why is not None
    print(f"{len(specs)} faults, {missed} not seen")
    return 1 if missed or not specs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
